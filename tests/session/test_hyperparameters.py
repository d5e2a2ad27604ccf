"""Hyperparameters: where they are found, and what changed at a restart."""

import json

from rltui.core.batch import Batch, TextPoint
from rltui.session.hyperparameters import Hyperparameters, same
from tests.builders import a_batch, a_source
from tests.tables import cases


def a_text(tag: str, text: str) -> TextPoint:
    return TextPoint(tag, 0, 0.0, text)


def launched(order: int, **hparams: object) -> Batch:
    return a_batch(source=f"events.{order}", order=order, hparams=hparams)


def test_nested_arguments_have_joined_names() -> None:
    found = Hyperparameters()
    arguments = {"optim": {"lr": 1e-6, "betas": [0.9, 0.95]}, "seed": 1, "reference": None}
    assert found.add(a_batch(texts=(a_text("args/text_summary", json.dumps(arguments)),)))
    assert found.values == {
        "optim.lr": 1e-6,
        "optim.betas": "[0.9, 0.95]",
        "seed": 1,
        "reference": None,
    }


def test_a_value_from_a_text_reaches_no_terminal_as_it_is() -> None:
    found = Hyperparameters()
    found.add(a_batch(texts=(a_text("config", '{"a\\u001b[2J": "\\u001b]0;x\\u0007"}'),)))
    (name,), (value,) = found.values, found.values.values()
    assert name.isprintable()
    assert str(value).isprintable()


def test_samples_that_are_json_are_none() -> None:
    found = Hyperparameters()
    assert not found.add(a_batch(texts=(a_text("completion", '{"lr": 3}'),)))
    assert found.values == {}


def test_what_a_later_file_sets_otherwise_changed() -> None:
    found = Hyperparameters()
    found.add(launched(1, lr=1e-5, beta=0.1, seed=1))
    found.add(launched(0, lr=1e-6, beta=0.1, output="a"))
    (change,) = found.changes()
    assert (change.name, change.before, change.after) == ("lr", 1e-6, 1e-5)
    assert change.path.name == "events.1"


def test_files_of_other_formats_are_not_compared() -> None:
    found = Hyperparameters()
    found.add(launched(0, max_steps=100))
    other = a_source("trainer_state.json", order=1, format="trainer_state")
    found.add(a_batch(source=other, hparams={"max_steps": 200}))
    assert found.changes() == []
    assert found.formats == ["tfevents", "trainer_state"]


def test_a_log_that_goes_on_after_a_restart() -> None:
    found = Hyperparameters()
    for rate in (1e-6, 1e-6, 1e-5):
        found.add(launched(0, lr=rate))
    assert [(c.before, c.after) for c in found.changes()] == [(1e-6, 1e-5)]


@cases(__file__, "one_value_in_several_forms")
def test_one_value_in_several_forms(one: object, other: object, equal: bool) -> None:
    assert same(one, other) is equal

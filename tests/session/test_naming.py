"""One name of a run everywhere."""

from pathlib import Path

import pytest

from rltui.core.batch import RunKey
from rltui.session.naming import Naming, is_called, logdir_labels
from tests.builders import a_batch
from tests.fakes import a_session


def names_of(*keys: str | tuple[int, str], labels: tuple[str, ...] = ("logs", "more")) -> list[str]:
    runs = [RunKey(0, k) if isinstance(k, str) else RunKey(*k) for k in keys]
    naming = Naming(labels)
    for run in runs:
        naming.add(run)
    return [naming.name_of(run) for run in runs]


def test_the_first_folder_is_the_name_where_one_run_lies_in_it() -> None:
    assert names_of("a/out/tb", "b/out/tb", "b/eval", "c") == ["a", "b/out/tb", "b/eval", "c"]


def test_a_run_keeps_its_path_where_nothing_stands_beside_its_folder() -> None:
    assert names_of("ppo/CartPole_1") == ["ppo/CartPole_1"]
    assert names_of("ppo/CartPole_1", "ppo/CartPole_2") == ["ppo/CartPole_1", "ppo/CartPole_2"]


def test_a_folder_with_a_generic_name_distinguishes_nothing() -> None:
    assert names_of("runs/a", "b/tb") == ["runs/a", "b"]
    assert names_of("tb", "b/tb") == ["logs/tb", "b"]


def test_a_logdir_gives_its_name_to_itself_and_to_equal_names() -> None:
    assert names_of(".", "a") == ["logs", "a"]
    assert names_of((0, "a"), (1, "a"), (1, "b")) == ["logs/a", "more/a", "b"]
    assert names_of((0, "a/tb"), (1, "a/eval"), (1, "b/tb")) == ["a/tb", "a/eval", "b"]


def test_a_name_grows_when_another_run_needs_its_beginning() -> None:
    naming = Naming(("logs",))
    keys = [RunKey(0, name) for name in ("a/tb", "b/tb", "a/eval")]
    for key in keys[:2]:
        naming.add(key)
    assert naming.name_of(keys[0]) == "a"
    naming.add(keys[2])
    assert [naming.name_of(k) for k in keys] == ["a/tb", "b", "a/eval"]


@pytest.mark.parametrize(
    ("paths", "labels"),
    [
        (["/x/one/logs"], ("logs",)),
        (["/x/one/logs", "/x/two/logs", "/y/runs"], ("one/logs", "two/logs", "runs")),
        (["/logs", "/x/logs"], ("logs", "x/logs")),
        (["/x/logs", "/x/logs"], ("x/logs", "x/logs")),
        (["/"], ("/",)),
    ],
    ids=["one", "same folder", "root", "twice", "root itself"],
)
def test_logdirs_of_one_name_are_distinguished(paths: list[str], labels: tuple[str, ...]) -> None:
    assert logdir_labels([Path(p) for p in paths]) == labels


def test_a_run_answers_to_its_name_and_to_its_path() -> None:
    batches = (a_batch({"loss": [1.0]}, run=f"{n}/tb", source=f"{n}/e") for n in "ab")
    first, _ = a_session(*batches).runs()
    assert first.name == "a"
    assert [is_called(first, x) for x in ("a", "a/tb", "a*", "b", "tb")] == [
        True,
        True,
        True,
        False,
        False,
    ]

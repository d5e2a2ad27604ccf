"""One name of a run, one title of a metric everywhere.

Session and views follow the store when a file turns out to belong to another run.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.catalogue.guess import distinct_titles
from rltui.core.address import parse_logdir
from rltui.core.batch import RunKey
from rltui.core.block import Block
from rltui.session.naming import Naming, called, logdir_labels
from tests.builders import START, a_batch, a_block, steps
from tests.fakes import FakeReader, a_session
from tests.tables import cases


def names_of(*keys: str | tuple[int, str], labels: tuple[str, ...] = ("logs", "more")) -> list[str]:
    runs = [RunKey(0, k) if isinstance(k, str) else RunKey(*k) for k in keys]
    naming = Naming(labels)
    for run in runs:
        naming.add(run)
    return [naming.name_of(run) for run in runs]


def test_a_logdir_gives_its_name_to_itself_and_to_equal_names() -> None:
    assert names_of(".", "a") == ["logs", "a"]
    assert names_of((0, "a"), (1, "a"), (1, "b")) == ["logs/a", "more/a", "b"]
    assert names_of((0, "a/x/tb"), (1, "a/x/tb"), (1, "b")) == ["logs/a", "more/a", "b"]
    assert names_of((0, "a/x"), (1, "a/x"), (1, "a/y"))[:2] == ["logs/a", "more/a/x"]
    assert names_of((0, "a/tb"), (1, "a/eval"), (1, "b/tb")) == ["a/tb", "a/eval", "b"]


@cases(__file__, "logdirs_of_one_name_are_distinguished")
def test_logdirs_of_one_name_are_distinguished(paths: list[str], labels: list[str]) -> None:
    assert logdir_labels([Path(p) for p in paths]) == tuple(labels)


def test_a_run_answers_to_its_name_its_paths_and_its_first_folder() -> None:
    naming = Naming(("logs",))
    keys = [RunKey(0, name) for name in ("a/tb", "b/tb", "c/x", "c/y")]
    naming.choose(keys)
    names = {key: naming.names_of(key) for key in keys}
    assert naming.name_of(keys[0]) == "a"
    for text in ("a", "a/tb", "a*", "logs/a/tb"):
        assert called(text, names) == keys[:1], text
    assert called("c", names) == naming.called("c") == keys[2:]
    assert called("tb", names) == []
    assert called("a*", names, globs=False) == []


def test_a_name_means_one_run_though_it_is_the_folder_of_others() -> None:
    keys = [RunKey(0, name) for name in ("exp", "exp/eval", "exp/[1]")]
    naming = Naming(("logs",))
    naming.choose(keys)
    for key in keys:
        assert naming.called(naming.name_of(key)) == [key]


FOLDERS = st.lists(st.sampled_from(["a", "b", "foo", "logs", "tb"]), min_size=1, max_size=3)
PATHS = st.one_of(st.sampled_from([".", ".#2"]), FOLDERS.map("/".join))
LABELS = st.sampled_from(["foo", "a", "a/b", "logs"])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), PATHS), max_size=12, unique=True),
    st.lists(LABELS, min_size=3, max_size=3),
)
def test_no_two_runs_have_one_name_and_each_name_chooses_its_run(
    found: list[tuple[int, str]], labels: list[str]
) -> None:
    keys = [RunKey(*key) for key in found]
    naming = Naming(labels)
    naming.choose(keys)
    names = [naming.name_of(key) for key in keys]
    assert len(set(names)) == len(names), names
    for key, name in zip(keys, names, strict=True):
        chosen = Naming(labels, name)
        assert chosen.choose(keys) == {key}
        assert chosen.name_of(key) == name


@cases(__file__, "a_label_names_the_host_where_paths_are_alike")
def test_a_label_names_the_host_where_paths_are_alike(
    addresses: list[str], labels: list[str]
) -> None:
    assert list(logdir_labels([parse_logdir(a) for a in addresses])) == labels


def test_a_choice_that_matches_nothing_names_what_there_is() -> None:
    naming = Naming(("logs",), "grop")
    assert naming.missed == "", "nothing was found yet"
    naming.choose([RunKey(0, f"{name}/tb") for name in ("grpo", "ppo")])
    assert naming.missed == (
        "no run matches 'grop' (--run); did you mean 'grpo'?; 2 runs found: grpo, ppo"
    )
    naming.choose([RunKey(0, f"run_{n}/tb") for n in range(10)])
    assert naming.missed.endswith("12 runs found: grpo, ppo, run_0, run_1, run_2, ...")
    naming.choose([RunKey(0, "grop/tb")])
    assert naming.missed == ""


def test_names_in_the_message_are_cleaned() -> None:
    naming = Naming(("logs",), "\x1b[31m")
    naming.choose([RunKey(0, "a")])
    assert naming.missed.isprintable()


def titles(*tags: str) -> list[str]:
    (run,) = a_session(a_batch({t: [1.0, 2.0, 3.0] for t in tags})).runs()
    return [run.infos[t].title for t in tags]


@cases(__file__, "a_second_tag_of_a_metric_says_where_it_is_from")
def test_a_second_tag_of_a_metric_says_where_it_is_from(tags: list[str], expected: str) -> None:
    found = titles(*tags)
    assert found[-1] == expected
    assert len(set(found)) == len(found)


def test_a_known_metric_keeps_its_title_beside_an_unknown_tag() -> None:
    found = titles("objective/kl", "ppo/mean_scores", "env/reward_mean", "reward")
    assert len(set(found)) == len(found)


@cases(__file__, "test_the_part_that_differs")
def test_the_part_that_differs(title: str, tags: list[str], expected: list[str]) -> None:
    assert distinct_titles(title, tags) == expected


def test_the_time_of_the_reward_is_not_called_like_the_reward() -> None:
    assert titles("timing_s/reward", "critic/rewards/mean") == [
        "reward computation",
        "reward, shaped",
    ]


HERE, OTHER = RunKey(0, "."), RunKey(0, ".#2")


def rows(value: float) -> Block:
    walls = [START + value + s for s in range(100)]
    return a_block({"loss": [value] * 100, "lr": [value] * 100}, walls=walls)


def test_hyperparameters_go_with_their_file() -> None:
    reader = FakeReader()
    session = a_session(reader=reader)
    session.start()
    reader.feed(a_batch(rows(1), source="one", hparams={"lr": 1.0, "total_steps": 200}))
    reader.feed(a_batch(rows(2), source="two", order=1, hparams={"lr": 2.0, "epochs": 7}))
    changes = session.drain()
    (moved,) = changes.moved
    assert (moved.path.name, moved.source, moved.target) == ("two", HERE, OTHER)
    assert session.views[HERE].hyperparameters.values == {"lr": 1.0, "total_steps": 200}
    assert session.views[OTHER].hyperparameters.values == {"lr": 2.0, "epochs": 7}
    assert session.views[OTHER].infos.keys() == {"loss", "lr"}
    assert all(view.report is not None for view in session.runs())


def test_later_rows_of_a_moved_file_go_to_its_run() -> None:
    reader = FakeReader()
    session = a_session(reader=reader)
    session.start()
    reader.feed(a_batch(rows(1), source="one"))
    reader.feed(a_batch(rows(2), source="two", order=1))
    session.drain()
    reader.feed(a_batch(steps(101, {"loss": [3.0]}), source="two", order=1, hparams={"lr": 5}))
    changes = session.drain()
    assert (changes.runs, changes.moved) == ({OTHER}, ())
    assert session.views[OTHER].data.last_step == 101
    assert session.views[OTHER].hyperparameters.values == {"lr": 5}
    assert session.views[HERE].data.last_step == 100

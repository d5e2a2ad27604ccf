"""Who reads what on a cluster, whoever dies."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rltui.core.address import RemotePath, parse_logdir
from rltui.core.batch import Batch, RunKey
from rltui.core.errors import UnreachableError
from rltui.core.level import Level
from rltui.files.trouble import Backoff
from rltui.remote import ReaderOptions, open_reader, stream_reader
from rltui.remote.ray import cluster_reader
from rltui.remote.ray.cluster_reader import ClusterReader
from rltui.remote.ray.nodes import Nodes, Opening
from rltui.remote.stream_reader import StreamReader
from rltui.sources.follow.resume import HandedOver
from rltui.sources.follow.threaded_reader import MOST_BATCHES, ReaderState, ThreadedReader
from rltui.sources.options import Choose, Intervals
from rltui.store import RunData
from tests.builders import a_batch, running
from tests.clock import ManualClock
from tests.remote.ray.conftest import log
from tests.remote.ray.simulated_cluster import Rig, SimulatedCluster, helper_threads
from tests.remote.ssh.far_host import Watched

FAST = Intervals(0.01, 0.02, 0.05)
FOUND = {"n1/a": 10, "n1/b": 10, "n2/a": 10, "n2/c": 10}
_PATIENCE_S = 30.0


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was lost is tried again, and noted, at once."""
    monkeypatch.setattr(stream_reader, "_NOTED_S", 0.0)
    monkeypatch.setattr(stream_reader, "Backoff", lambda: Backoff(0.02, 0.05))


class Follower(Watched):
    """What a reader of ``ray:///runs`` has brought."""

    def run(self, name: str) -> RunData:
        return self.store.runs[RunKey(0, name)]

    @property
    def counts(self) -> dict[str, int]:
        """Points of each run."""
        return {k.name: r.series("loss").count for k, r in self.store.runs.items()}

    def until_true(self, done: Callable[[], object]) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not done():
            assert time.monotonic() < end, (self.counts, self.reader.state.notes)
            self.reader.wait(0.05)
            for batch in self.reader.drain():
                self.batches.append(batch)
                self.store.apply(batch)

    def until_counts(self, wanted: dict[str, int]) -> None:
        self.until_true(lambda: self.counts == wanted)

    def again(self, name: str) -> Iterator[Batch]:
        """What was read of a run, once more."""
        run = self.run(name)
        found = self.reader.read_again(run.key, run.files.sources, run.files.generations)
        assert found is not None
        return found

    def reload(self, name: str) -> None:
        """Unload a run, and load it again from its node."""
        run = self.run(name)
        run.unload(())
        for _ in run.load(self.again(name)):
            pass


@contextmanager
def following(choose: Choose | None = None) -> Iterator[Follower]:
    options = ReaderOptions(choose=choose, watch=FAST)
    follower = Follower(open_reader([parse_logdir("ray:///runs")], options))
    with running(follower.reader):
        yield follower


def read_once(choose: Choose | None = None) -> dict[str, int]:
    reader = open_reader([parse_logdir("ray:///runs")], ReaderOptions(choose=choose))
    follower = Follower(reader)
    for batch in reader.read_all():
        follower.store.apply(batch)
    reader.stop()
    return follower.counts


def test_the_node_is_in_the_name_and_the_path(rig: Rig) -> None:
    with following() as follower:
        follower.until_counts(FOUND)
        follower.until_true(lambda: follower.reader.state.run_count == 4)
        path = follower.run("n1/a").path
        assert isinstance(path, RemotePath)
        assert str(path).startswith("ray://auto/n1:/")
    assert read_once() == FOUND


def test_one_directory_on_two_nodes_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(tmp_path, "a", 10)
    cluster = SimulatedCluster({"n1": tmp_path, "n2": tmp_path})
    with helper_threads(cluster, monkeypatch), following() as follower:
        follower.until_counts({"n1/a": 10})
        del cluster.roots["n1"]
        log(tmp_path, "a", 3, first=10)
        follower.until_counts({"n1/a": 13})
        assert all(n.level is Level.WATCH for n in follower.reader.state.notes)


def test_a_node_that_leaves_keeps_its_runs_and_may_come_back(rig: Rig) -> None:
    cluster = rig.cluster
    with following() as follower:
        follower.until_counts(FOUND)
        root = cluster.roots.pop("n2")
        notes = follower.run("n2/a").files.notes
        follower.until_true(lambda: notes)
        assert follower.counts == FOUND
        assert "not reachable since" in notes[0].message
        log(root, "a", 7, first=10)
        cluster.roots["n9"], cluster.names["n9"] = root, "n2"  # as another node of that name
        follower.until_counts({**FOUND, "n2/a": 17})
        follower.until_true(lambda: notes[-1].level is Level.OK)
        follower.until_true(lambda: not follower.reader.state.notes)


def test_two_nodes_of_one_name_differ(rig: Rig) -> None:
    rig.cluster.names = {"n1": "host", "n2": "host"}
    assert set(read_once()) == {"host-n1/a", "host-n1/b", "host-n2/a", "host-n2/c"}


def test_a_new_helper_goes_on_where_the_last_one_ended(rig: Rig) -> None:
    with following() as follower:
        follower.until_counts(FOUND)
        log(rig.cluster.roots["n1"], "a", 5, first=10)
        follower.until_counts({**FOUND, "n1/a": 15})
        before = len(follower.batches)
        rig.cut()
        log(rig.cluster.roots["n1"], "a", 5, first=15)
        (rig.cluster.roots["n2"] / "runs" / "a" / "metrics.jsonl").unlink()
        follower.until_counts({**FOUND, "n1/a": 20})
        follower.until_true(lambda: follower.run("n2/a").files.all_gone)
        assert not [b for b in follower.batches[before:] if b.run.name != "n1/a" and b.items]
        run = follower.run("n2/a")
        assert follower.reader.read_again(run.key, run.files.sources, ()) is None


@pytest.mark.parametrize("seed", range(6))
def test_actors_that_die_at_any_time_lose_and_double_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    roots = {f"n{i}": tmp_path / f"n{i}" for i in range(3)}
    rows: dict[str, int] = {}
    cluster = SimulatedCluster(dict(roots), random=chance)

    def write() -> None:
        for _ in range(chance.randrange(4)):
            node, run = chance.choice(list(roots)), chance.choice("ab")
            more, name = chance.randrange(1, 30), f"{node}/{run}"
            log(roots[node], run, more, first=rows.get(name, 0))
            rows[name] = rows.get(name, 0) + more

    for node, root in roots.items():
        log(root, "a", 1)
        rows[f"{node}/a"] = 1
    with (
        helper_threads(cluster, monkeypatch) as rig,
        following(set if seed % 2 else None) as follower,
    ):
        cluster.deadly = 0.1
        for turn in range(30):
            write()
            follower.reader.wait(0.03)
            for batch in follower.reader.drain():
                follower.store.apply(batch)
            if turn % 10 == 9:
                rig.cut()
        cluster.deadly = 0.0
        follower.until_counts(rows)
        follower.assert_whole(rows)


def test_without_nodes_nothing_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        helper_threads(SimulatedCluster({}), monkeypatch),
        pytest.raises(UnreachableError, match="it has no node"),
    ):
        read_once()


# -- which runs ---------------------------------------------------------------------------------


class Asked:
    """Chooses runs by the end of their names, and remembers what it was asked."""

    def __init__(self, end: str) -> None:
        self.end = end
        self.questions: list[frozenset[str]] = []

    def __call__(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        self.questions.append(frozenset(key.name for key in keys))
        return [key for key in keys if key.name.endswith(self.end)]


def test_only_chosen_runs_are_read(rig: Rig) -> None:
    asked = Asked("/a")
    assert read_once(asked) == {"n1/a": 10, "n2/a": 10}
    assert asked.questions == [frozenset(FOUND)], "names depend on all runs"


def test_a_run_that_is_chosen_later_is_read(rig: Rig) -> None:
    with following(Asked("/a")) as follower:
        follower.until_counts({"n1/a": 10, "n2/a": 10})
        log(rig.cluster.roots["n1"], "new/a", 3)
        follower.until_counts({"n1/a": 10, "n2/a": 10, "n1/new/a": 3})
        rig.cut()
        log(rig.cluster.roots["n1"], "a", 5, first=10)
        follower.until_counts({"n1/a": 15, "n2/a": 10, "n1/new/a": 3})


def test_a_search_that_does_not_end_is_not_waited_for_for_ever(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_reader, "_CHOICE_S", 0.2)
    rig.cluster.hanging = {"n2"}
    with following(Asked("a")) as follower:
        follower.until_counts({"n1/a": 10})


# -- reading again ------------------------------------------------------------------------------


def test_the_points_are_the_same_whoever_dies(rig: Rig) -> None:
    log(rig.cluster.roots["n1"], "a", 30_000, first=10)  # several batches
    with following() as follower:
        follower.until_counts({**FOUND, "n1/a": 30_010})
        before = follower.run("n1/a").series("loss").values.tolist()
        log(rig.cluster.roots["n1"], "a", 5, first=30_010)
        follower.reload("n1/a")
        assert follower.run("n1/a").series("loss").values.tolist()[:30_010] == before
        follower.until_counts({**FOUND, "n1/a": 30_015})
        for actor in list(rig.cluster.actors):  # those that the follower starts meanwhile live
            rig.cluster.kill(actor)
        follower.reload("n1/a")
        assert follower.counts == {**FOUND, "n1/a": 30_015}


def test_a_connection_that_ends_leaves_no_stream_on_the_nodes(rig: Rig) -> None:
    def streams() -> int:
        actors = [actor for actor in rig.cluster.actors if actor.alive]
        return sum(len(actor.reader._channels) for actor in actors)

    with following() as follower:
        follower.until_counts(FOUND)
        follower.until_true(lambda: streams() == 2)
        follower.reload("n1/a")
        assert streams() > 2
        follower.reader._rereading.close()
        follower.until_true(lambda: streams() == 2)


# -- threads of one reader ----------------------------------------------------------------------


class Renewing(ThreadedReader):
    """A node's reader; whenever it is asked, another thread adds one to its cluster's readers."""

    def __init__(self, readers: dict[str, StreamReader], rows: int = 0) -> None:
        self._readers = readers
        self._rows = rows

    def _renew(self) -> None:
        new = Renewing(self._readers)
        self._readers[f"n{len(self._readers)}"] = new  # type: ignore[assignment]

    def scan(self) -> None: ...

    def read_all(self) -> Iterator[Batch]:
        yield from [a_batch()] * self._rows

    def read_again(self, *_: object) -> None:
        self._renew()

    def progress(self) -> tuple[int, int]:
        self._renew()
        return 0, 1

    @property
    def ended(self) -> bool:
        return False

    @property
    def state(self) -> ReaderState:
        self._renew()
        return ReaderState(run_count=1)

    def _prepare(self) -> None: ...

    def _follow(self) -> None: ...

    def _interrupt(self) -> None: ...


def renewing(rig: Rig, rows: int = 0) -> ClusterReader:
    nodes = Nodes(Opening("auto", ("/runs",)), rig.connect, ManualClock())  # type: ignore[arg-type]
    found = ClusterReader(nodes, [Path("/runs")], ReaderOptions(), HandedOver())
    found._readers["n0"] = Renewing(found._readers, rows)  # type: ignore[assignment]
    return found


def test_what_is_asked_while_nodes_come_is_answered(rig: Rig) -> None:
    found = renewing(rig)
    assert found.progress() == (0, 1)
    assert found.state.run_count == 2
    assert found.read_again(RunKey(0, "a"), {}, ()) is None


def test_reading_that_is_given_up_ends(rig: Rig) -> None:
    batches = renewing(rig, rows=3 * MOST_BATCHES).read_all()
    next(batches)
    thread = threading.Thread(target=batches.close, daemon=True)  # type: ignore[attr-defined]
    thread.start()
    thread.join(_PATIENCE_S)
    assert not thread.is_alive()

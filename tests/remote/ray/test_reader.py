"""The reader of a cluster, as sessions and commands use it; Ray is simulated."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

import rltui
from rltui.cli import main
from rltui.commands.verbs import Exit
from rltui.core.address import parse_logdir
from rltui.core.batch import Batch, RunKey
from rltui.core.errors import UnreachableError
from rltui.remote import ReaderOptions
from rltui.remote.ray.reader import RayReader
from rltui.remote.stream_client import StreamError
from rltui.remote.stream_reader import StreamReader
from tests.builders import running
from tests.remote.ray.conftest import log
from tests.remote.ray.simulated_cluster import Rig, SimulatedCluster
from tests.remote.small_memory import assert_same, watching, write

ADDRESS = "ray:///runs"
PATIENCE_S = 30


def a_reader() -> RayReader:
    path = parse_logdir(ADDRESS)
    return RayReader([path], ReaderOptions())  # type: ignore[list-item]


def checked(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    main(["check", ADDRESS, "--json", *options])
    return [run["run"] for run in json.loads(capsys.readouterr().out)["runs"]]


def test_check_reads_the_chosen_runs_only(
    rig: Rig, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    received, here = StreamReader._received, str(rig.cluster.roots["n1"].parent)

    def noted(reader: StreamReader, there: Batch) -> Batch:
        if here in str(there.source.path):  # readers of other tests may not have ended
            sent.append(there.source.path.parts[-2])
        return received(reader, there)

    monkeypatch.setattr(StreamReader, "_received", noted)
    assert checked(capsys, "--run", "*/a") == ["n1/a", "n2/a"]
    assert set(sent) == {"a"}
    sent.clear()
    assert checked(capsys) == ["n1/a", "n1/b", "n2/a", "n2/c"]
    assert set(sent) == {"a", "b", "c"}


def test_a_glob_that_matches_nothing_names_what_there_is(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", ADDRESS, "--run", "zzz"]) == Exit.NOTHING
    assert "4 runs found: n1/a, n1/b, n2/a, n2/c" in capsys.readouterr().err


def test_doctor_searches_the_nodes(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    (rig.cluster.roots["n1"] / "runs" / "odd.jsonl").write_text("no row\n" * 9)
    assert main(["doctor", ADDRESS, "--json"]) == Exit.OK
    (found,) = json.loads(capsys.readouterr().out)["logdirs"]
    assert [n["path"].rpartition("/")[2] for n in found["not_read"]] == ["odd.jsonl"]
    assert [r["run"] for r in found["runs"]] == ["n1/a", "n1/b", "n2/a", "n2/c"]
    main(["doctor", ADDRESS])
    assert "a reader on each node watches" in capsys.readouterr().out
    assert not any(actor.alive for actor in rig.cluster.actors)


def test_doctor_says_why_a_cluster_cannot_be_searched(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "ray:///none"]) == Exit.USAGE
    assert "✖ ray://auto/none: no node of the cluster has this path" in capsys.readouterr().out
    rig.cluster.missing = "no cluster of Ray at 10.0.0.1:6379: Connection refused"
    assert main(["doctor", ADDRESS]) == Exit.NOTHING
    assert "✖ ray://auto/runs: no cluster of Ray at 10.0.0.1:6379: Conn" in capsys.readouterr().out


def test_a_path_that_no_node_has_does_not_hide_the_others(
    rig: Rig, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log(tmp_path, "here", 10)
    codes, errors = [], []
    for other in (f"{tmp_path}/none", "ray:///none"):
        known = ADDRESS if other.startswith("ray:") else f"{tmp_path}/runs"
        codes.append(main(["check", known, other]))
        shown = capsys.readouterr()
        assert "loss" in shown.out
        errors.append(shown.err)
    assert codes[0] == codes[1]
    assert errors[1] == "rltui: ray://auto/none: no node of the cluster has this path\n"


def test_a_path_that_a_node_gets_later_is_read(rig: Rig) -> None:
    paths = [parse_logdir(ADDRESS), parse_logdir("ray:///later")]
    reader = RayReader(paths, ReaderOptions(partial=True))  # type: ignore[arg-type]
    with running(reader):
        assert [n.path for n in reader.state.unread] == [paths[1]]
        root = rig.cluster.roots["n1"]
        (root / "runs").rename(root / "later")
        end = time.monotonic() + PATIENCE_S
        while reader.state.unread and time.monotonic() < end:
            reader.wait(0.1)
            reader.drain()
        assert not reader.state.unread


def test_a_cluster_that_is_down_is_searched_again_later(rig: Rig) -> None:
    reader = a_reader()
    rig.cluster.missing = "no cluster of Ray at 10.0.0.1:6379"
    with pytest.raises(UnreachableError, match=r"ray://auto/runs: no cluster of Ray at 10\.0"):
        reader.scan()
    assert reader.state.connecting == (parse_logdir(ADDRESS),)
    rig.cluster.missing = ""
    reader.scan()
    assert not reader.state.connecting
    reader.stop()


def test_quitting_while_it_connects_ends_the_search(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, asked, go_on = a_reader(), threading.Event(), threading.Event()

    def hangs(_address: str) -> object:
        asked.set()
        go_on.wait(PATIENCE_S)
        return rig.cluster

    monkeypatch.setattr(rig, "connect", hangs)
    failed: list[BaseException] = []

    def scan() -> None:
        try:
            reader.scan()
        except UnreachableError as error:
            failed.append(error)

    thread = threading.Thread(target=scan)
    thread.start()
    assert asked.wait(PATIENCE_S)
    reader.stop()
    thread.join(PATIENCE_S)
    assert failed
    go_on.set()


@pytest.fixture
def large(cluster: SimulatedCluster) -> SimulatedCluster:
    """The cluster with four runs of which the memory holds one."""
    for node, root in cluster.roots.items():
        for number, run in enumerate(("a", "b") if node == "n1" else ("a", "c")):
            write(root / "runs" / run / "metrics.jsonl", number)
    return cluster


def test_a_small_memory_suffices_and_shows_the_same(large: SimulatedCluster, rig: Rig) -> None:
    with watching(ADDRESS, 1 << 30) as whole, watching(ADDRESS) as small:
        assert_same(whole, small)


def test_a_helper_that_ends_is_no_end_of_waiting(large: SimulatedCluster, rig: Rig) -> None:
    with watching(ADDRESS) as watch:
        view = watch.unloaded()[0]
        view.series("x/7")
        rig.cut()
        watch.until(lambda: len(rig.helpers) == 2)
        watch.loaded(view)
        assert watch.session.views[RunKey(0, view.key.name)] is view


def test_nothing_runs_any_more_after_a_verdict_from_python(rig: Rig) -> None:
    assert len(rltui.judge(ADDRESS)) == 4
    assert [helper._control.fileno() for helper in rig.helpers] == [-1]


def test_no_helper_begins_after_the_end(rig: Rig) -> None:
    reader = a_reader()
    reader.stop()
    with pytest.raises(StreamError, match="the reader was stopped"):
        reader._dial()
    assert not rig.helpers

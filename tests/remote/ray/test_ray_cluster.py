"""A real cluster of Ray on this machine: each node has a directory of its own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.core.address import parse_logdir
from rltui.core.batch import RunKey
from rltui.core.errors import SourceError
from rltui.remote import ReaderOptions, open_reader
from rltui.store import Store
from tests.builders import append_rows, running

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.xdist_group("ray")]

_MEMORY = 80 << 20
_LOGS = "RLTUI_TEST_LOGS"


class Nodes:
    """Nodes that come and go."""

    def __init__(self, root: Path) -> None:
        from ray.cluster_utils import Cluster

        self.root = root
        head = {"num_cpus": 2, "object_store_memory": _MEMORY, "include_dashboard": False}
        self._cluster = Cluster(initialize_head=True, head_node_args={**head, "node_name": "head"})
        self._nodes: dict[str, Any] = {}
        self.address = self._cluster.address

    def add(self, name: str) -> None:
        env = {_LOGS: str(self.root / name)}
        self._nodes[name] = self._cluster.add_node(
            num_cpus=0, object_store_memory=_MEMORY, node_name=name, env_vars=env
        )

    def kill(self, name: str) -> None:
        self._cluster.remove_node(self._nodes.pop(name), allow_graceful=False)

    def log(self, name: str, rows: int, first: int = 0) -> None:
        """Append rows to the run of a node."""
        append_rows(self.root / name / "run" / "metrics.jsonl", rows, first)

    def close(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A head without logs and two nodes; Ray notices soon that one has died."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_health_check_initial_delay_ms", "1000")
        patch.setenv("RAY_health_check_period_ms", "500")
        patch.setenv("RAY_health_check_failure_threshold", "3")
        patch.delenv("RAY_ADDRESS", raising=False)
        nodes = Nodes(tmp_path_factory.mktemp("nodes"))
        try:
            for name in ("n1", "n2"):
                nodes.log(name, 10)
                nodes.add(name)
            yield nodes
        finally:
            nodes.close()


@pytest.fixture(autouse=True)
def _address(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)


def test_a_node_is_killed_while_it_streams_and_comes_back(nodes: Nodes) -> None:
    reader = open_reader([parse_logdir(f"ray:///${_LOGS}")], ReaderOptions())
    store = Store()

    def until(wanted: dict[str, int], level_notes: int = 0) -> None:
        end = time.monotonic() + 90
        while True:
            for batch in reader.drain():
                store.apply(batch)
            found = {k.name: r.series("loss").count for k, r in store.runs.items()}
            notes = sum(len(r.files.notes) for r in store.runs.values())
            if found == wanted and notes >= level_notes:
                return
            assert time.monotonic() < end, (found, notes, reader.state.notes)
            reader.wait(0.5)

    reader.scan()
    with running(reader):
        until({"n1/run": 10, "n2/run": 10})
        nodes.log("n1", 5, first=10)
        until({"n1/run": 15, "n2/run": 10})
        nodes.kill("n2")
        nodes.log("n1", 5, first=15)
        until({"n1/run": 20, "n2/run": 10}, level_notes=1)
        (note,) = next(r for k, r in store.runs.items() if k.name == "n2/run").files.notes
        assert note.message.endswith("has left the cluster") or "ended" in note.message
        nodes.log("n2", 7, first=10)
        nodes.add("n2")
        until({"n1/run": 20, "n2/run": 17}, level_notes=2)


def test_check_on_the_cluster_says_what_one_process_says(
    nodes: Nodes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(20):
        rows = (f'{{"step": {i}, "loss": {number / (i + 1)}}}\n' for i in range(60))
        (tmp_path / f"run{number}.jsonl").write_text("".join(rows))
        os.utime(tmp_path / f"run{number}.jsonl", (1.7e9, 1.7e9))
    documents = []
    for option in ("-j1", "--ray"):
        main(["check", str(tmp_path), "--json", option])
        documents.append(json.loads(capsys.readouterr().out))
        documents[-1].pop("as_of")
    assert documents[0] == documents[1]
    assert len(documents[1]["runs"]) == 20


def test_a_chosen_run_is_read_and_read_again(nodes: Nodes) -> None:
    chosen: list[RunKey] = []

    def choose(keys: Collection[RunKey]) -> Collection[RunKey]:
        chosen[:] = [key for key in keys if key.name.startswith("n1/")]
        return chosen

    reader = open_reader([parse_logdir(f"ray:///${_LOGS}")], ReaderOptions(choose=choose))
    store = Store()
    for batch in reader.read_all():
        store.apply(batch)
    try:
        ((key, run),) = store.runs.items()
        assert [key] == chosen
        before = run.series("loss").values.tolist()
        run.unload(())
        again = reader.read_again(key, run.files.sources, run.files.generations)
        assert again is not None
        for _ in run.load(again):
            pass
        assert run.series("loss").values.tolist() == before
        assert len(before) >= 10
    finally:
        reader.stop()


def test_doctor_names_the_nodes(nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", f"ray:///${_LOGS}", "--json"])
    (found,) = json.loads(capsys.readouterr().out)["logdirs"]
    assert not found["not_read"], "all clocks are one"
    assert [run["run"] for run in found["runs"]] == ["n1/run", "n2/run"]


def test_a_path_that_no_node_has_is_an_error(nodes: Nodes) -> None:
    reader = open_reader([parse_logdir("ray:///no/such/path")], ReaderOptions())
    with pytest.raises(SourceError, match="no node of the cluster has this path"):
        reader.scan()


def test_no_cluster_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    reader = open_reader([parse_logdir("ray:///x")], ReaderOptions())
    with pytest.raises(SourceError, match=r"no cluster of Ray at 127\.0\.0\.1:1"):
        reader.scan()

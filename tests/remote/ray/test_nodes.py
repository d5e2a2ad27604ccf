"""Names and directories of nodes; tasks on a cluster. Ray is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rltui.core.address import RemotePath, parse_logdir
from rltui.core.batch import RunKey
from rltui.core.errors import SourceError, UsageError
from rltui.remote import ReaderOptions, open_reader
from rltui.remote.ray.cluster_reader import NodePaths, NodeRoot
from rltui.remote.ray.node_reader import CodeMissingError, LogRoot, NodeReader, expanded, root_at
from rltui.remote.ray.reader import RayPaths
from rltui.remote.ray.tasks import TaskCluster

ADDRESS = RemotePath("ray:", "auto")
WORKER = f"worker-{'ab12' * 14}-01000000-4711"


def a_place(name: str = "/runs", *, inside: str = "", shared: bool = False) -> LogRoot:
    return LogRoot(0, Path(name), f"host {name}", shared, inside)


@pytest.mark.parametrize(
    ("root", "label", "run", "name"),
    [
        (a_place(), "n1", "a/b", "n1/a/b"),
        (a_place(), "n1", ".", "n1"),
        (a_place(), "n1", ".#2", "n1#2"),
        (a_place(shared=True), "", "a", "a"),
        (a_place(shared=True), "", ".", "."),
        (a_place(inside="/data/x"), "n1", ".", "n1/data/x"),
        (a_place(), "n1", WORKER, "n1/worker-4711-ab12"),
        (a_place(), "n\x1b[1m1", "a", "n�[1m1/a"),
    ],
    ids=["below", "itself", "second", "shared", "root", "held-open", "worker", "escape"],
)
def test_names_of_runs(root: LogRoot, label: str, run: str, name: str) -> None:
    paths = NodePaths([NodeRoot(a_place("/other"), "n9"), NodeRoot(root, label)])
    key, log = paths.key(RunKey(1, run)), root.path / "a" / "x.jsonl"
    assert RayPaths([ADDRESS], [Path("/")]).key(key).name.replace("\\x1b", "\ufffd") == name
    here = paths.translated(log)
    assert paths.there(here) == log
    assert paths.key_there(key, here) == RunKey(1, run)


def test_without_ray_one_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rltui.core.installation.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"needs ray: .* 'ray\[client\]'"):
        open_reader([parse_logdir("ray:///x")], ReaderOptions())


# -- which directories on several nodes are the same -----------------------------------------


def test_a_place_has_one_identity_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to("a")
    one, link, other = (root_at(0, tmp_path / n) for n in ("a", "link", "b"))
    assert one.key == link.key
    assert one.key != other.key
    assert one.key != root_at(1, tmp_path / "a").key


def test_variables_stand_for_what_they_are_on_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGS", "/scratch/7")
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("/$LOGS/runs") == Path("/scratch/7/runs")
    assert expanded("~/runs") == Path("/home/me/runs")
    assert expanded("/data") == Path("/data")
    assert expanded("/$UNKNOWN/x") == Path("/$UNKNOWN/x")


def test_a_path_that_leads_nowhere_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "runs").mkdir()
    paths = f"{tmp_path}/round", "/~nobody-has-this-name/runs", f"{tmp_path}/runs"
    found = NodeReader(paths)
    assert [root.logdir for root in found.look().roots] == [2]
    assert found.fetch("no-such-channel", 0.0) is None


class MixedCluster:
    """Every second task runs on a node without rltui, until that is shipped."""

    def __init__(self, *, can_ship: bool = True) -> None:
        self._can_ship = can_ship
        self._has_code = False
        self.calls: list[Callable[[], Any]] = []

    def function(self, function: Callable[..., Any]) -> MixedCluster:
        self._function = function
        return self

    def remote(self, *arguments: Any) -> Callable[[], Any]:
        def call() -> Any:
            return self._function(*arguments)

        self.calls.append(call)
        return call

    def wait(self, calls: Sequence[Any], _timeout_s: float) -> list[Any]:
        return list(calls[:1])

    def result(self, call: Callable[[], Any]) -> Any:
        if not self._has_code and self.calls.index(call) % 2:
            raise CodeMissingError("rltui cannot run there")
        return call()

    def ship_code(self) -> bool:
        self._has_code = self._can_ship
        return self._can_ship


def tasks_on(cluster: MixedCluster) -> TaskCluster:
    tasks = object.__new__(TaskCluster)
    tasks._cluster = cluster  # type: ignore[assignment]
    return tasks


def test_no_result_comes_twice_where_some_nodes_lack_rltui() -> None:
    cluster = MixedCluster()
    assert list(tasks_on(cluster).map(str.upper, ["a", "b", "c"])) == ["A", "B", "C"]
    assert len(cluster.calls) == 3 + 2  # the second one failed, the third was not waited for


def test_where_rltui_cannot_be_shipped_one_line_says_so() -> None:
    found = tasks_on(MixedCluster(can_ship=False)).map(str.upper, ["a", "b", "c"])
    assert next(found) == "A"
    with pytest.raises(SourceError, match="--ray: rltui cannot run there"):
        next(found)

"""Tasks on a cluster; Ray is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rltui.core.errors import SourceError
from rltui.remote.ray.message import CodeMissingError
from rltui.remote.ray.survey import TaskCluster


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

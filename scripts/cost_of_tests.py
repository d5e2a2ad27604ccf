"""What tests cost: CPU seconds of each folder, file and test, by themselves and by the programs
that they start, beside the seconds that went by.

    python -m pytest -q -p scripts.cost_of_tests tests/commands
    python -m pytest -q -p scripts.cost_of_tests -n auto

A plugin of pytest. COSTS=FILE also writes a line of tab-separated values for each test. CPU
seconds hardly change on a busy machine; seconds without CPU are waiting, which other workers use.
What many tests share, such as a fixture of a module, is paid by the first.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

import pytest

#: Tests and files that are listed.
SHOWN = 20
_PROPERTY = "cost"


class Cost(NamedTuple):
    """Seconds: CPU of this process, CPU of programs that ended meanwhile, and of the clock."""

    own: float
    programs: float
    passed: float

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]
        return Cost(*(mine + its for mine, its in zip(self, other, strict=True)))

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*(mine - its for mine, its in zip(self, other, strict=True)))


def _now() -> Cost:
    times = os.times()
    programs = times.children_user + times.children_system
    return Cost(times.user + times.system, programs, time.perf_counter())


_began = pytest.StashKey[Cost]()
_costs: dict[str, Cost] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_began] = _now()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "teardown":
        report.user_properties.append((_PROPERTY, tuple(_now() - item.stash[_began])))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Also runs in the process that other workers report to."""
    for name, value in report.user_properties:
        if name == _PROPERTY and report.when == "teardown":
            _costs[report.nodeid] = Cost(*value)  # type: ignore[misc]


def _by(name: Callable[[str], str]) -> list[tuple[str, Cost]]:
    """Costs by part of the id, the dearest first."""
    sums: defaultdict[str, Cost] = defaultdict(lambda: Cost(0.0, 0.0, 0.0))
    for test, cost in _costs.items():
        sums[name(test)] += cost
    return sorted(sums.items(), key=lambda each: -(each[1].own + each[1].programs))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _folder(test: str) -> str:
    return "/".join(_file(test).split("/")[:2])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _costs:
        return
    for title, name, shown in (
        ("folders", _folder, None),
        ("files", _file, SHOWN),
        ("tests", str, SHOWN),
    ):
        terminalreporter.section(f"cost of {title}")
        terminalreporter.write_line("    CPU  programs  seconds")
        for what, cost in _by(name)[:shown]:
            terminalreporter.write_line(
                f"{cost.own:7.2f} {cost.programs:9.2f} {cost.passed:8.2f}  {what}"
            )
    total = sum(_costs.values(), Cost(0.0, 0.0, 0.0))
    terminalreporter.write_line(
        f"{total.own:7.2f} {total.programs:9.2f} {total.passed:8.2f}  {len(_costs)} tests"
    )
    if path := os.environ.get("COSTS"):
        lines = ("\t".join([*(f"{n:.4f}" for n in cost), test]) for test, cost in _costs.items())
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")

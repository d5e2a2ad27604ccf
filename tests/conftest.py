"""Fixtures that every floor shares, and how property tests are run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests import documents, heap
from tests.clock import ManualClock
from tests.ids import short_id
from tests.places import DEV

# One profile for everybody: the same examples in every run and no clock. HYPOTHESIS_PROFILE=hunt
# looks for new counterexamples.
_QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, suppress_health_check=_QUIET
)
settings.register_profile(
    "hunt", deadline=None, database=None, max_examples=2000, suppress_health_check=_QUIET
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Short ids that are the same in every worker of pytest-xdist."""
    return short_id(val)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Workers of ``-n auto``: three for two cores, for a third of the time of tests is waiting, for
    programs that they start and for time-outs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) * 3 // 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a module stay together, so that what they share is made once, and workers that are
    done take from others."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave thousands of tests out of every collection of garbage: a quarter of a second each."""
    heap.set_aside()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """The same for what tests leave: their reports, and what is cached."""
    heap.test_ended()


@pytest.fixture(scope="session", autouse=True)
def _heap_stays_aside() -> Iterator[None]:
    """Commands freeze what they read, for their process ends with them; this one goes on."""
    with heap.commands_change_nothing():
        yield


@pytest.fixture(autouse=True)
def _faults_are_raised(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that the wall would contain fails the test, but for those of the wall itself."""
    if request.node.get_closest_marker("faults") is None:
        monkeypatch.setattr("rltui.core.fault.reported", _raised)


def _raised(error: Exception, _: str) -> NoReturn:
    raise error


@pytest.fixture(scope="session", autouse=True)
def _shipped_documents_are_parsed_once() -> Iterator[None]:
    with documents.parsed_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _signals_arrive() -> None:
    """Programs that tests start inherit what is ignored: in the background of a shell that is
    SIGINT, below nohup SIGHUP."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)


@pytest.fixture(scope="session")
def pycache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Byte code of rltui, as an installed program has it; shared by all workers."""
    return tmp_path_factory.getbasetemp().parent / "pycache"


@pytest.fixture(scope="session", autouse=True)
def _programs_are_compiled_once(pycache: Path) -> Iterator[None]:
    """Those that tests start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", str(pycache))
        yield


@pytest.fixture
def corpus() -> Path:
    """Logs that real frameworks wrote, where they lie beside the project."""
    if not DEV.is_dir():
        pytest.skip(f"no corpus of real logs at {DEV}")
    return DEV


@pytest.fixture
def clock() -> ManualClock:
    """A clock that moves only by hand."""
    return ManualClock()


@pytest.fixture(scope="session")
def _empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _no_user_settings(monkeypatch: pytest.MonkeyPatch, _empty_home: Path) -> None:
    """Settings of the person who runs the tests must not change what is tested."""
    for variable in list(os.environ):
        if variable.startswith("RLTUI_") and variable != "RLTUI_PACKAGING":
            monkeypatch.delenv(variable)
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.setenv(variable, "")  # so that it is put back whatever a test does
        monkeypatch.delenv(variable)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(_empty_home / variable.lower()))

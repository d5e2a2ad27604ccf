"""Fixtures that every floor shares, and how property tests are run."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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


@pytest.fixture
def tmp_logdir(tmp_path: Path) -> Path:
    """An empty log directory."""
    logdir = tmp_path / "logs"
    logdir.mkdir()
    return logdir


@pytest.fixture(scope="session")
def _empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _garbage_is_collected() -> Iterator[None]:
    """Commands that end with their process leave what they read to nobody."""
    yield
    gc.unfreeze()


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

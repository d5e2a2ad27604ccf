"""What there is to watch when nobody named a path.

Looks where frameworks write by default, where the environment says, and at what running
processes of this user write. Every look is bounded: together they take a fraction of a second,
also where a home directory has a hundred thousand files. Reads no run and changes nothing.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from rltui.core.clock import Clock, SystemClock
from rltui.core.text import clean
from rltui.formats import FORMATS, Belonging, Format
from rltui.sources.discovery.log_writers import PROC, Holder, Processes
from rltui.sources.discovery.quick_scan import Glancer, Log, Sight
from rltui.trackers import TRACKERS, Tracker

#: Seconds for everything, for what processes write, and for the first look at one place.
_TOTAL_S, _PROCESSES_S, _PLACE_S = 0.25, 0.08, 0.015
#: Directories that frameworks make where they are started.
NAMED = (
    *("tensorboard_log", "runs", "wandb", "outputs", "logs", "lightning_logs", "mlruns"),
    "swanlog",
)
#: Variables that name a directory (or a file) of logs.
VARIABLES = (
    *("TENSORBOARD_DIR", "VERL_FILE_LOGGER_PATH", "VERL_FILE_LOGGER_ROOT", "SWANLAB_LOG_DIR"),
    *("SWANLAB_LOGDIR", "TRACKIO_DIR", "WANDB_DIR"),
)
_MLFLOW = "MLFLOW_TRACKING_URI"
#: Where verl lets MLflow write (verl/utils/tracking.py).
_MLFLOW_DEFAULT = Path("/tmp/mlruns.db")
#: Working directories of other processes that are looked at.
_MAX_DIRECTORIES = 6
_MAX_OFFERS = 100


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look."""

    path: Path
    origin: str
    """Why, for people: ``$TENSORBOARD_DIR``, ``working directory``."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Something to watch."""

    path: Path
    """Absolute; a directory, or a log file."""
    origin: str
    here: bool
    """Whether it is the working directory or below it."""
    runs: int
    """About how many."""
    formats: tuple[str, ...]
    """The most frequent first."""
    modified: float
    """Newest change of a log, seconds since the epoch."""
    partial: bool
    """Whether there may be more runs: the look was cut short."""
    newest: tuple[Log, ...] = ()
    """The logs that changed last, newest first."""
    holders: tuple[Holder, ...] = ()
    """Running processes that write here."""


@dataclass(frozen=True, slots=True)
class Offers:
    """The result of one search."""

    offers: tuple[Offer, ...]
    """Newest first."""
    looked: tuple[str, ...]
    """Where rltui looked, for people; cleaned."""


class Scout:
    """Searches again and again; the next time is cheaper. One thread."""

    def __init__(
        self,
        directory: Path | None,
        environment: Mapping[str, str],
        home: Path | None,
        *,
        formats: Sequence[Format] = FORMATS,
        trackers: Sequence[Tracker] = TRACKERS,
        clock: Clock | None = None,
        proc: Path = PROC,
    ) -> None:
        """``directory`` is the working directory, None when it was deleted; reads nothing yet."""
        self._directory = directory
        self._environment = environment
        self._home = home
        self._formats = tuple(formats)
        self._trackers = tuple(trackers)
        self._clock = clock or SystemClock()
        self._proc = proc
        self._glancer = Glancer(formats, trackers, self._clock.monotonic)

    def find(self) -> Offers:
        """Look once. Never raises: what cannot be read is not offered."""
        end = self._clock.monotonic() + _TOTAL_S
        found: dict[str, Offer] = {}
        every = list(self.places())
        here = {_real(p.path): p for p in reversed(every) if p.path.exists()}
        # A first look at every place, so that a large one does not hide the others; then what is
        # left of the time for those that were not seen whole: what is known is passed quickly.
        for most in (_PLACE_S, _TOTAL_S):
            for real, place in reversed(here.items()):
                left = min(most, end - _PROCESSES_S - self._clock.monotonic())
                if real not in found or found[real].partial:
                    self._look(place, real, left, found)
        self._ask_processes(found, end)
        kept = sorted(_merged(found), key=lambda o: (-o.modified, str(o.path)))
        return Offers(tuple(kept[:_MAX_OFFERS]), tuple(dict.fromkeys(p.origin for p in every)))

    def places(self) -> Iterator[Place]:
        """Where logs may be, whether or not there is anything."""
        here = self._directory
        base = here or Path("/")
        for name in VARIABLES:
            if value := self._environment.get(name):
                yield Place(base / value, f"${name}")
        uri = self._environment.get(_MLFLOW)
        if uri and (store := _local(uri)):
            yield Place(base / store, f"${_MLFLOW}")
        if here is not None:
            for name in NAMED:
                yield Place(here / name, name)
            yield Place(here, "working directory")
        if self._home is not None:
            yield Place(self._home / "ray_results", "~/ray_results")
            cache = self._environment.get("HF_HOME") or self._home / ".cache" / "huggingface"
            yield Place(Path(cache) / "trackio", "Trackio's own directory")
        yield Place(_MLFLOW_DEFAULT, str(_MLFLOW_DEFAULT))

    def _look(self, place: Place, real: str, seconds: float, found: dict[str, Offer]) -> None:
        sight = self._glancer.look(place.path, max(0.0, seconds))
        if sight.runs:
            found[real] = self._offer(place, real, sight)

    def _offer(self, place: Place, real: str, sight: Sight) -> Offer:
        here = self._directory is not None and _inside(real, _real(self._directory))
        return Offer(
            place.path,
            clean(place.origin),
            here,
            sight.runs,
            sight.formats,
            sight.modified,
            sight.partial,
            sight.newest,
        )

    # -- processes -------------------------------------------------------------------------

    def _ask_processes(self, found: dict[str, Offer], end: float) -> None:
        """Say who writes what was found, and add what is written elsewhere."""
        processes = Processes(os.getuid(), self._proc) if hasattr(os, "getuid") else None
        if processes is None or not processes.pids:
            return
        host = socket.gethostname()
        held = processes.written(self._named, lambda: self._clock.monotonic() >= end)
        for path, process in held.items():
            if self._clock.monotonic() >= end:
                return
            self._written(path, process.holder, found)
        for log in [log for offer in found.values() for log in offer.newest]:
            writer = processes.writer_of(log.path.name, host)
            if writer is not None:
                _attach(found, _real(log.path), writer.holder)
        self._elsewhere(processes, host, found, end)

    def _named(self, name: str) -> bool:
        return any(f.claims_name(name) for f in self._formats) or any(
            t.claims_name(name) for t in self._trackers
        )

    def _written(
        self,
        path: Path,
        holder: Holder,
        found: dict[str, Offer],
    ) -> None:
        """A file that is open for writing: part of what was found, or an offer of its own."""
        kind = self._glancer.claims(path)
        if not kind:
            return
        real = _real(path)
        if not _attach(found, real, holder):
            form = next((f for f in self._formats if f.name == kind), None)
            whole = form is not None and form.belonging(path.name) is Belonging.DIRECTORY
            place = Place(path.parent if whole else path, "running process")
            self._look(place, _real(place.path), _PLACE_S, found)
            _attach(found, real, holder)

    def _elsewhere(
        self,
        processes: Processes,
        host: str,
        found: dict[str, Offer],
        end: float,
    ) -> None:
        """Event files below the working directories of Python processes, if they write them."""
        done: set[Path] = set()
        for _, directory in processes.working_directories():
            left = end - self._clock.monotonic()
            if len(done) >= _MAX_DIRECTORIES or left <= 0:
                return
            if directory in done or _real(directory) in found:
                continue
            done.add(directory)
            for log in self._glancer.look(directory, min(_PLACE_S, left)).newest:
                writer = processes.writer_of(log.path.name, host)
                if writer is not None:
                    self._written(log.path, writer.holder, found)


def _attach(found: dict[str, Offer], real: str, holder: Holder) -> bool:
    """Tell every offer that holds this file who writes it; whether there is any."""
    inside = [key for key in found if _inside(real, key)]
    for key in inside:
        offer = found[key]
        found[key] = replace(offer, holders=tuple(sorted({*offer.holders, holder})))
    return bool(inside)


def _merged(found: Mapping[str, Offer]) -> list[Offer]:
    """Without a directory all of whose runs are in another one that is offered, too."""
    kept = []
    for outer, offer in found.items():
        within = {k: o for k, o in found.items() if k != outer and _inside(k, outer)}
        apart = [o for k, o in within.items() if not any(k != x and _inside(k, x) for x in within)]
        if apart and not offer.partial and offer.runs <= max(o.runs for o in apart):
            continue
        offer = replace(
            offer,
            runs=max(offer.runs, sum(o.runs for o in apart)),
            modified=max([offer.modified, *(o.modified for o in apart)]),
        )
        kept.append(offer)
    return kept


def _real(path: Path) -> str:
    """The path without links, as the identity of a place."""
    with suppress(OSError, ValueError, RuntimeError):
        return os.path.realpath(path)
    return str(path)


def _inside(real: str, directory: str) -> bool:
    return real == directory or real.startswith(directory.rstrip("/") + "/")


def _local(uri: str) -> str | None:
    """The path that an MLflow URI means; None for a server (mlflow.org: tracking URIs)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme == "":
        return uri
    if parts.scheme == "file":
        return unquote(parts.path)
    if parts.scheme == "sqlite":  # sqlite:///relative.db, sqlite:////absolute.db
        return unquote(parts.path[1:]) or None
    return None

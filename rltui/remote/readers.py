"""Several readers as one: each reads some of the logdirs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

from rltui.core.address import RAY, SSH, RemotePath, is_remote
from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.errors import SourceError, UnreachableError, UsageError
from rltui.core.installation import to_add
from rltui.files.remote.stores import needs
from rltui.remote.part import Part, Wishes
from rltui.sources.follow.queued import MOST_BATCHES, Arriving, Reading
from rltui.sources.follow.reader import Reader

#: Hosts that are connected to at the same time.
_MOST_AT_ONCE = 32
#: Begins the name of a reader of stores of fsspec.
_STORE = "store "


class Readers:
    """A :class:`Reading` of several parts, which take turns."""

    def __init__(
        self, parts: Iterable[Part], *, partial: bool = False, later: bool = False
    ) -> None:
        """``partial``: what cannot be searched is noted, as long as something can, and searched
        again; ``later``: all searching is done in threads, once they are started."""
        self._parts = tuple(parts)
        self._partial = partial
        self._later = later
        self._settled = not later
        """Whether it is known that something can be read."""
        self._errors: list[Exception] = []
        """What broke threads; raised one by one when there are no batches."""
        self._next = 0
        self._news = threading.Event()
        self._call: Callable[[], None] | None = None
        for part in self._parts:
            part.on_batch = self._on_batch

    @property
    def on_batch(self) -> Callable[[], None] | None:
        """Called in a thread of a part when it has something."""
        return self._call

    @on_batch.setter
    def on_batch(self, call: Callable[[], None] | None) -> None:
        self._call = call

    def _on_batch(self) -> None:
        self._news.set()
        call = self._call
        if call is not None:
            call()

    def scan(self) -> None:
        """Search for runs, in all parts at once. Raises SourceError for a path that is missing or
        no log, and UnreachableError where no host can be reached."""
        if self._later:
            return
        with ThreadPoolExecutor(min(_MOST_AT_ONCE, len(self._parts))) as pool:
            try:
                for _, error in zip(self._parts, pool.map(Part.scan, self._parts), strict=True):
                    if not (self._partial or error is None or _is_away(error)):
                        raise error
            except BaseException:
                self.stop()  # whoever still waits for a host
                raise
        if (error := self._nothing) is not None:
            raise error

    @property
    def _nothing(self) -> SourceError | None:
        """Why nothing can be read at all, a bad path before a host out of reach."""
        errors = [e for part in self._parts if (e := part.failed) is not None]
        if len(errors) < len(self._parts):
            return None
        return min(errors, key=_is_away)

    def read_all(self) -> Iterator[Batch]:
        """Every source to its end, part by part. Raises SourceError if each of them fails."""
        for part in self._parts:
            yield from part.read_all()
        if (error := self._nothing) is not None:
            raise error

    def read_again(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> Iterator[Batch] | None:
        """What was read of a run, once more; None when that cannot be had again."""
        part = next(p for p in self._parts if p.holds(key))
        found = part.reader.read_again(part.inner(key), sources, generations)
        if found is None:
            return None
        return found.changed(part.named) if isinstance(found, Arriving) else part.batches(found)

    def rereadable(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> bool | None:
        """Whether all of a run can be read again; None while that is being asked."""
        part = next(p for p in self._parts if p.holds(key))
        return part.reader.rereadable(part.inner(key), sources, generations)

    def start(self) -> None:
        """Begin to read, each part in a thread. Raises SourceError for bad paths."""
        for part in self._parts:
            part.start()

    def stop(self) -> None:
        """End the threads, all at once: each may wait for a host for seconds."""
        with ThreadPoolExecutor(min(_MOST_AT_ONCE, len(self._parts))) as pool:
            list(pool.map(Part.stop, self._parts))

    def drain(self, max_batches: int = MOST_BATCHES) -> list[Batch]:
        """Batches that are there, oldest first within a part. Raises what broke a thread, once,
        and SourceError when nothing can be read, once that is known."""
        self._news.clear()
        self._settle()
        found: list[Batch] = []
        for _ in self._parts:
            part = self._parts[self._next]
            self._next = (self._next + 1) % len(self._parts)
            try:
                found += part.drain(max_batches - len(found))
            except Exception as error:  # noqa: BLE001 - raised after what the others have
                self._errors.append(error)
            if len(found) >= max_batches:
                break
        if self._errors and not found:
            raise self._errors.pop(0)

        return found

    def _settle(self) -> None:
        """When all searches are over for the first time: whether there is anything to read, or may
        be on a host out of reach."""
        if self._settled or self.searching:
            return
        self._settled, error = True, self._nothing
        if error is not None and not any(p.failed and _is_away(p.failed) for p in self._parts):
            self._errors.append(error)

    def wait(self, timeout: float) -> bool:
        """Wait until a batch (or an error) is there, at most ``timeout`` seconds."""
        end = monotonic() + timeout
        while not self._has_some():
            if not self._news.wait(max(0.0, end - monotonic())):
                return False
            self._news.clear()  # it may be about a batch that was drained meanwhile
        return True

    def _has_some(self) -> bool:
        """Whether :meth:`drain` has something, or raises."""
        self._settle()
        return bool(self._errors) or any(p.error or p.reader.wait(0) for p in self._parts)

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known)."""
        each = [part.reader.progress() for part in self._parts]
        return sum(read for read, _ in each), sum(known for _, known in each)

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more."""
        return all(part.reader.ended for part in self._parts)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no file of a run."""
        return tuple(n for part in self._parts for n in part.notes)

    @property
    def out_of_reach(self) -> tuple[Path, ...]:
        """Logdirs on hosts and servers that cannot be reached now."""
        return tuple(p for part in self._parts for p in part.out_of_reach)

    def lost_at(self, logdir: Path) -> float | None:
        """When a logdir got out of reach, where its reader knows."""
        found = (part.reader.lost_at(logdir) for part in self._parts)
        return next((at for at in found if at is not None), None)

    def instead(self, logdir: Path) -> Path | None:
        """The address by which a logdir is read in the place of its own; None for its own."""
        found = (part.instead(logdir) for part in self._parts)
        return next((there for there in found if there is not None), None)

    @property
    def unread(self) -> tuple[Note, ...]:
        """Logdirs that cannot be searched, with the reason."""
        return tuple(n for part in self._parts for n in part.unread)

    @property
    def searching(self) -> tuple[Path, ...]:
        """Logdirs that have not been searched once."""
        return tuple(p for part in self._parts for p in part.searching)

    @property
    def connecting(self) -> tuple[Path, ...]:
        """Logdirs whose hosts have not answered yet."""
        return tuple(p for part in self._parts for p in part.reader.connecting)

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read, with the reason."""
        return tuple(n for part in self._parts for n in part.reader.unclaimed)

    @property
    def run_count(self) -> int:
        """Runs that the newest search found, read or not."""
        return sum(part.reader.run_count for part in self._parts)


def _is_away(error: SourceError) -> bool:
    return isinstance(error, UnreachableError)


def open_reader(logdirs: Sequence[Path], wishes: Wishes) -> Reading:
    """One reader of all logdirs; a run's key has the number of its logdir among them.

    Raises UsageError for an address that needs an extra which is not installed.
    """
    later = wishes.later and any(map(is_remote, logdirs))
    groups: dict[str, list[int]] = {}
    for number, logdir in enumerate(logdirs):
        groups.setdefault(_who_reads(logdir, later), []).append(number)
    if len(groups) == 1 and not (later or _by_ssh(next(iter(groups)))):
        return _open(next(iter(groups)), logdirs, wishes)
    from rltui.remote.part import Part  # only for logdirs on other hosts
    from rltui.remote.readers import Readers  # only for logdirs on other hosts

    parts = []
    for who, numbers in groups.items():
        paths = [logdirs[n] for n in numbers]
        part = Part(paths, numbers, wishes.choose, wishes.wants)
        asked = part.wishes(wishes)
        sftp = partial(_by_sftp, paths, asked) if _by_ssh(who) else None
        part.open(_open(who, paths, asked), sftp)
        parts.append(part)
    return Readers(parts, partial=wishes.partial, later=later)


def _who_reads(logdir: Path, later: bool) -> str:
    """What the logdirs of one reader have in common. ``later``: each server is searched by
    itself."""
    if not isinstance(logdir, RemotePath):
        return ""
    if logdir.scheme in (SSH, RAY):
        return f"{logdir.scheme}://{logdir.authority}"
    return f"{_STORE}{logdir.scheme}://{logdir.authority}" if later else ""


def _by_ssh(who: str) -> bool:
    return who.startswith(f"{SSH}:")


def _by_sftp(logdirs: Sequence[Path], wishes: Wishes) -> tuple[Reading, Sequence[Path]]:
    """A reader for hosts without rltui, and its names of the logdirs. Raises SourceError where
    that is not possible."""
    host = ""
    paths = []
    for path in logdirs:
        assert isinstance(path, RemotePath)
        host = path.authority
        if path.place.startswith("~"):
            why = "and sftp needs an absolute path"
            raise SourceError(f"{path}: there is no rltui on {host}, {why}")
        paths.append(RemotePath("sftp:", host, path.place.lstrip("/")))
    if not all(map(find_spec, ("fsspec", "paramiko"))):
        raise SourceError(
            f"{logdirs[0]}: there is no rltui on {host}: install it there (RLTUI_REMOTE_COMMAND is "
            f"its path, if ssh does not find it), or here, for sftp: {to_add(*needs('sftp'))}"
        )

    return _open("", paths, wishes), paths


def _open(who: str, logdirs: Sequence[Path], wishes: Wishes) -> Reading:
    if _by_ssh(who):
        from rltui.remote.ssh.reader import SshReader  # only for logdirs on other hosts

        return SshReader([p for p in logdirs if isinstance(p, RemotePath)], wishes)
    if who.startswith(f"{RAY}:"):
        from rltui.remote.ray.reader import RayReader  # only for logdirs on other hosts

        return RayReader([p for p in logdirs if isinstance(p, RemotePath)], wishes)
    if who and not who.startswith(_STORE):
        raise UsageError(f"{who}: cannot be read")
    return Reader(
        logdirs,
        clock=wishes.clock,
        verify=wishes.verify,
        watch=wishes.watch,
        choose=wishes.choose,
        wants=wishes.wants,
        step_keys=wishes.step_keys,
        pipe=wishes.pipe,
        ends=wishes.ends,
        waits=wishes.waits,
        partial=wishes.partial,
        absent=wishes.absent,
    )

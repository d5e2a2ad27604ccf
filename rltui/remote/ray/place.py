"""Directories and files to read on the nodes of a cluster, and which of them are the same."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rltui.core.batch import Batch, RunKey
from rltui.core.errors import RltuiError
from rltui.remote.ray.message import (
    Again,
    Chosen,
    Offsets,
    PlaceNews,
    PlaceState,
    Reads,
    Reread,
    Task,
    packed,
)
from rltui.remote.ray.survey import RunChoice
from rltui.sources.follow.queued import BatchQueue
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.resume import HandedOver, says_something, without_content
from rltui.sources.follow.schedule import Intervals

_MOUNTS = Path("/proc/self/mountinfo")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
#: File systems that other hosts see, too.
_SHARED = frozenset(
    "nfs nfs4 cifs smb3 lustre beegfs gpfs ceph afs orangefs wekafs panfs fuse".split()  # noqa: SIM905
)
#: File systems in user space that show what lies on this host.
_LOCAL_FUSE = frozenset(f"fuse.{n}" for n in ("fuse-overlayfs", "bindfs", "mergerfs", "lxcfs"))
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory or file to read on one or several nodes."""

    logdir: int
    """Number of the logdir that means it."""
    path: Path
    """Absolute, on the node."""
    identity: str
    """The same for all nodes that see the same directory, different for all others."""
    shared: bool
    """Whether it lies on a file system of the network, so that no node owns it."""
    inside: str = ""
    """What distinguishes it from other places of the logdir on the node, in the names of runs."""
    prefix: str = ""
    """Only runs whose name begins so are read."""

    @property
    def key(self) -> tuple[int, str, str]:
        """Equal for one place seen from several nodes."""
        return self.logdir, self.inside, self.identity


def place_at(logdir: int, path: Path, inside: str = "", prefix: str = "") -> Place:
    """The place of an existing path. Raises OSError."""
    path = path.resolve(strict=True)
    status = path.stat()
    mount = _mount_of(path)
    if mount is not None:
        kind, source, within = mount
        if kind in _SHARED or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE):
            return Place(logdir, path, f"{kind} {source} {within}", True, inside, prefix)
    identity = f"{_boot_id()} {status.st_dev} {status.st_ino}"
    return Place(logdir, path, identity, False, inside, prefix)


def expanded(text: str) -> Path:
    """A path as of this node: ``~`` and environment variables stand for what they are here."""
    rest = os.path.expandvars(text.lstrip("/"))
    if rest.startswith("~"):
        return Path(rest).expanduser()
    return Path("/", rest.lstrip("/"))


def _mount_of(path: Path, mounts: Path = _MOUNTS) -> tuple[str, str, str] | None:
    """Type and source of the file system of a path, and the path within it; None where that
    cannot be known."""
    best: tuple[int, str, str, str] | None = None
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, more = left.split(), right.split()
        if len(fields) < 5 or len(more) < 2:
            continue
        root, point = map(_plain, fields[3:5])
        if path.is_relative_to(point) and (best is None or len(point) >= best[0]):
            within = str(Path(root, path.relative_to(point)))
            best = len(point), more[0], _plain(more[1]), within
    return None if best is None else best[1:]


def _plain(field: str) -> str:
    """A field of ``mountinfo`` without its octal escapes."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), field)


def _boot_id() -> str:
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        import socket

        return socket.gethostname()


#: Bytes of a log per batch, and batches of a place per call: a full queue of a reader and what is
#: on its way stay far below the memory that a node should spare.
_BUDGET_BYTES = 1 << 18


_MOST_BATCHES = 16


#: Why a run cannot be read again now.
JUST_BEGUN = "its reader has just begun"


class PlaceReader:
    """Searches and reads in a thread of its own: a place that hangs holds up no other one."""

    def __init__(
        self,
        number: int,
        place: Place,
        offsets: Offsets,
        *,
        reads: Reads,
        task: Task,
        news: threading.Event,
    ) -> None:
        """``offsets``: what was handed over before; ``news`` is set when :meth:`news` has some."""
        self._number = number
        self._place = place
        self._task = task
        self._news = news
        self._sent = PlaceState()
        self._failure = ""
        self._searched = False
        self._done = False
        self._vanished: list[Batch] = []
        self._again: dict[int, Iterator[Batch]] = {}
        self._known = HandedOver(offsets.values())
        asks = reads.chooses and task is not Task.SEARCH
        self._choice = RunChoice(place.prefix, asks=asks, on_news=news.set)
        self._queue = BatchQueue(news.set)
        """What is read once."""
        self._reader = Reader(
            [place.path],
            verify=reads.verify,
            watch=Intervals(reads.fast_s, reads.slow_s, reads.rescan_s),
            choose=self._choice.choose,
            step_keys=reads.step_keys,
            budget_bytes=_BUDGET_BYTES,
            on_batch=news.set,
            ends=reads.ends,
            waits=reads.waits,
            handed_over=self._known,
        )
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="rltui-place", daemon=True)

    def begin(self) -> None:
        """Search, then read."""
        self._thread.start()

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            self._closed = True
        self._choice.close()
        self._queue.close()
        self._reader.stop()

    def choose(self, chosen: Chosen) -> None:
        """Note which runs are to be read."""
        self._choice.take(chosen)

    # -- the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._reader.scan()
            self._searched = True
            self._vanished += self._known.vanished()
            if self._task is Task.FOLLOW:
                with self._lock:  # close() stops it afterwards
                    if not self._closed:
                        self._reader.start()
                return
            if self._task is Task.ONCE and not all(map(self._queue.put, self._reader.read_all())):
                return
        except RltuiError as error:
            self._failure = str(error)
        except Exception as error:  # noqa: BLE001 - of this place; the others go on
            self._failure = f"{type(error).__name__}: {error}"
        self._done = True
        self._news.set()

    # -- news ---------------------------------------------------------------------------------

    def news(self) -> PlaceNews | None:
        """What the driver does not know yet; None for nothing."""
        done = self._done  # before the last batches are looked for
        found = self._batches()
        vanished = self._vanished[:]
        del self._vanished[: len(vanished)]  # the thread may have added some meanwhile
        batches = [*vanished, *filter(says_something, found)]
        state = self._state(ended=(done or bool(self._failure)) and len(found) < _MOST_BATCHES)
        if not batches and state == self._sent:
            return None
        self._sent, before = state, self._sent
        offsets = {
            (b.run.name, b.source.path): without_content(b) for b in batches if not b.sampled
        }
        data = packed(batches) if batches else b""
        said = None if state == before else state
        if self._task is not Task.SEARCH or not state.ended:
            return PlaceNews(self._number, said, data, offsets)
        runs = self._reader.found
        files = (file.path for run in runs for file in run.files)
        unreadable = tuple(p for p in dict.fromkeys(files) if not os.access(p, os.R_OK))
        return PlaceNews(self._number, said, data, offsets, runs, unreadable)

    def _batches(self) -> list[Batch]:
        if self._task is not Task.FOLLOW:
            found = self._queue.drain(_MOST_BATCHES)
        elif self._failure:
            return []
        else:
            try:
                found = self._reader.drain(_MOST_BATCHES)
            except Exception as error:  # noqa: BLE001 - of this place; the others go on
                self._failure = f"{type(error).__name__}: {error}"
                return []
        if len(found) == _MOST_BATCHES:
            self._news.set()  # there may be more, and nothing else would say so
        return found

    def _state(self, *, ended: bool) -> PlaceState:
        reader = self._reader
        found, question = self._choice.state
        return PlaceState(
            progress=reader.progress(),
            runs=found or (),
            notes=reader.notes,
            unclaimed=() if self._place.prefix else reader.unclaimed,
            failure=self._failure,
            ended=ended,
            searched=found is not None,
            question=question,
        )

    # -- once more ----------------------------------------------------------------------------

    def read_again(self, wanted: Again) -> Reread:
        """The next piece of a run that is read again."""
        if not self._searched:  # it knows no file yet
            return Reread(wanted.id, failure=JUST_BEGUN)
        pieces = self._again.pop(wanted.id, None)
        if pieces is None:
            key = RunKey(0, wanted.run)
            pieces = self._reader.read_again(key, wanted.sources, ())
        if pieces is None:
            return Reread(wanted.id, lost=True)
        batches = list(islice(pieces, _MOST_BATCHES))
        more = len(batches) == _MOST_BATCHES
        if more:
            self._again[wanted.id] = pieces
        return Reread(wanted.id, packed(batches), more)

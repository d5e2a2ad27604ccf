"""Reads the logdirs of one host through ``ssh HOST rltui stream``.

The far side finds, reads and decodes; batches arrive here. When the connection is lost, its runs
get a note, and it is tried again and again: the far side is sent what has arrived of each file and
goes on from there, so that nothing is lost and nothing comes twice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.address import RemotePath
from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.errors import SourceError, UnreachableError
from rltui.core.level import Level
from rltui.files.disk import offer
from rltui.files.trouble import Notes
from rltui.remote.part import NotInstalledError
from rltui.remote.ssh.conversation import Conversation
from rltui.remote.ssh.files import SshFiles
from rltui.remote.ssh.link import FarPaths, LinkLostError, Outage, ssh_command
from rltui.remote.ssh.rereading import Rereading
from rltui.remote.wire.messages import Again, KnownFile, State
from rltui.sources.discovery.run_files import EMPTY
from rltui.sources.follow.queued import BatchQueue, QueuedReader
from rltui.sources.follow.resume import HandedOver

if TYPE_CHECKING:
    from rltui.remote.part import Wishes

#: Seconds until a lost connection is tried again: the first time, and at most.
_LEAST_PAUSE_S, _MOST_PAUSE_S = 0.5, 30.0
#: Attempts of a headless command to go on after its connection was lost.
_ATTEMPTS = 3
#: Seconds by which the clocks of two hosts may differ.
_SKEW_S = 60.0
_STOP_TIMEOUT_S = 2.0


class SshReader(QueuedReader):
    """A :class:`~rltui.sources.follow.reading.Reading` of one host."""

    def __init__(self, logdirs: Sequence[RemotePath], wishes: Wishes) -> None:
        """Raises UsageError for what is not a host."""
        self._logdirs = tuple(logdirs)
        self._host = logdirs[0].authority
        self._command = ssh_command(self._host, [p.place for p in logdirs], os.environ)
        # an empty file is then no error there, but one missing path does not hide the others
        partial = wishes.partial and len(logdirs) > 1
        self._wishes = replace(wishes, waits=True) if partial else wishes
        self._waits = wishes.waits
        self._known = HandedOver()
        super().__init__(BatchQueue())
        self._finished: set[Path] = set()
        """Files whose last line was read without its end."""
        root = RemotePath(*logdirs[0].parts[:2])
        self._files = SshFiles(root, ssh_command(self._host, ["~"], os.environ), wishes.clock)
        offer(root, self._files)
        self._rereading = Rereading(self._connected_again, self._on_news, wishes.clock)
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._outage = Outage(wishes.clock)
        self._talk: Conversation | None = None
        self._last = State()
        """What the far side said last, before the present connection."""
        self._paths: FarPaths
        self._skew_s = 0.0
        self._tried = False
        """Whether it was searched, with whatever success."""
        self._searching = False
        """Whether a thread, not necessarily that of the caller, waits for a search."""

    # -- once ---------------------------------------------------------------------------------

    def scan(self) -> None:
        """Search for runs. Raises SourceError for a path that is missing or no log,
        UnreachableError where the host cannot be reached, and NotInstalledError where it has no
        rltui, or one that is too old."""
        self._tried = True
        try:
            self._connected()
        except LinkLostError as error:
            if error.missing:
                raise NotInstalledError(f"there is no rltui on {self._host}: {error}") from None
            self._outage.begin(str(error))
            raise UnreachableError(f"{self._host}: {error}") from None
        except SourceError as error:
            raise SourceError(self._named(str(error))) from None

    def _named(self, text: str) -> str:
        """What the far side says about a path there, with the logdir in its place."""
        for logdir in self._logdirs:
            if text.startswith(f"{logdir.place}: "):
                return f"{logdir}: {text.removeprefix(f'{logdir.place}: ')}"
        return f"{self._host}: {text}"

    def read_all(self) -> Iterator[Batch]:
        """Every source to its end. What cannot be had because the connection is lost, and lost
        again, is noted."""
        if not self._tried:
            self.scan()
        for attempt in range(_ATTEMPTS):
            yield from self._read_once()
            if not self._outage.message:
                return
            self._stopped.wait(_LEAST_PAUSE_S * 2**attempt)

    def _read_once(self) -> Iterator[Batch]:
        try:
            for batch in self._connected().read(follow=False):
                yield self._taken(batch)
        except LinkLostError as error:
            self._outage.begin(str(error))
        finally:
            self._hang_up()

    def read_again(
        self,
        key: RunKey,
        sources: Mapping[Path, SourceInfo],
        generations: Iterable[int],
    ) -> Iterator[Batch] | None:
        """What was read of a run, once more, over a connection of its own; None where one of its
        files was written anew."""
        if any(generations):
            return None
        return self._rereading.read(self._wanted(key, sources))

    def rereadable(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> bool | None:
        """Whether the files there still hold what was read of a run. None while the host is being
        asked; a headless command waits."""
        if any(generations) or self._outage.message:
            return False
        return self._rereading.keeps(self._wanted(key, sources), wait=self._thread is None)

    def _wanted(self, key: RunKey, sources: Mapping[Path, SourceInfo]) -> Again:
        files = [
            KnownFile(self._paths.there(path), s.offset, s.modified, path in self._finished)
            for path, s in sources.items()
            if isinstance(path, RemotePath)
        ]
        return Again(key, tuple(files))

    def _connected_again(self) -> Conversation:
        """Another connection, after a search. Raises LinkLostError and SourceError."""
        wishes = replace(self._wishes, choose=None)
        talk = Conversation(self._command, self._logdirs, wishes, State())
        try:
            talk.search(self._known)
        except BaseException:
            talk.close()
            talk.release()
            raise
        return talk

    def _on_news(self) -> None:
        call = self.on_batch
        if call is not None:
            call()

    # -- live ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read in a thread. Raises SourceError for bad paths."""
        if self._thread is not None:
            return
        if not self._tried:
            self.scan()
        self._stopped.clear()
        self._queue.open()
        name = f"rltui-ssh-{self._host}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the connection and the thread; batches in the queue can still be drained."""
        self._stopped.set()
        self._queue.close()
        self._rereading.close()
        self._files.close()
        talk, thread = self._talk, self._thread
        if talk is not None:
            talk.close()
        self._thread = None
        if thread is not None:
            thread.join(_STOP_TIMEOUT_S)
        elif not self._searching:  # else the search ends with an error, and hangs up
            self._hang_up()

    # -- state --------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """False: a host may come back."""
        return False

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known) on the far side."""
        return self._state.progress or (0, 0)

    @property
    def run_count(self) -> int:
        """Runs that the newest search found, read or not."""
        return self._state.run_count or 0

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read, with the reason."""
        return self._state.unclaimed or ()

    @property
    def out_of_reach(self) -> tuple[Path, ...]:
        """All its logdirs while the host cannot be reached."""
        return tuple(self._logdirs) if self._outage.message else ()

    def lost_at(self, logdir: Path) -> float | None:
        """When the host got out of reach."""
        return self._outage.since if logdir in self._logdirs else None

    @property
    def connecting(self) -> tuple[Path, ...]:
        """All its logdirs until the far side has introduced itself."""
        talk = self._talk
        return () if talk is not None and talk.introduced else self._logdirs

    @property
    def unread(self) -> tuple[Note, ...]:
        """Logdirs that the far side cannot search, with the reason."""
        if self._outage.message:
            return ()
        state = self._state
        failed = [n for n in state.notes or () if n.level >= Level.WATCH]
        found = (n for n in (*failed, *(state.unclaimed or ())) if n.path in self._logdirs)
        return tuple(
            replace(n, level=Level.WATCH) for n in found if not (self._waits and n.message == EMPTY)
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no file of a run; that the host cannot be reached."""
        found = self._state.notes or ()
        if self._outage.message:
            lost = Note(self._logdirs[0], None, Level.WATCH, self._outage.message)
            return (lost, *(n for n in found if n.path != lost.path))
        if abs(self._skew_s) < _SKEW_S:
            return found
        side = "ahead of" if self._skew_s > 0 else "behind"
        text = f"the clock of {self._host} is {abs(self._skew_s):.0f} s {side} the one here"
        return (Note(self._logdirs[0], None, Level.WATCH, text), *found)

    @property
    def _state(self) -> State:
        talk = self._talk
        return self._last if talk is None else talk.state

    # -- the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        """Read until stopped; the body of the thread."""
        pause = _LEAST_PAUSE_S
        try:
            while not self._stopped.is_set():
                if self._follow():
                    pause = _LEAST_PAUSE_S
                self._hang_up()
                self._note_runs(self._outage.for_runs())
                self._stopped.wait(pause)
                pause = min(2 * pause, _MOST_PAUSE_S)
        except BaseException as error:  # noqa: BLE001 - raised on the main thread at the next drain
            self._queue.fail(error)
        finally:
            self._hang_up()

    def _follow(self) -> bool:
        """Read until the connection is lost; whether there was one."""
        connected = False
        try:
            talk = self._connected()
            connected = True
            for batch in talk.read(follow=True):
                if not self._queue.put(self._taken(batch)):
                    break
        except LinkLostError as error:
            if not self._stopped.is_set():
                self._outage.begin(str(error))
        except SourceError as error:
            self._outage.begin(str(error), what="cannot be read")
        return connected

    def _note_runs(self, notes: Notes) -> None:
        """Queue notes for every run."""
        logdir = self._logdirs[0]
        found = tuple(Note(logdir, None, level, message) for level, message in notes)
        for _, batches in self._known.by_run() if found else ():
            self._queue.put(replace(self._paths.batch(batches[-1]), notes=found))

    # -- the connection -----------------------------------------------------------------------

    def _connected(self) -> Conversation:
        """The connection, after a search. Raises LinkLostError, and SourceError for bad paths."""
        if self._talk is not None:
            return self._talk
        talk = Conversation(self._command, self._logdirs, self._wishes, self._last)
        self._searching = True
        self._talk = talk  # stop() ends it from now on
        try:
            if self._stopped.is_set():
                raise LinkLostError("stopped")
            talk.search(self._known)
        except BaseException:
            self._hang_up()
            raise
        finally:
            self._searching = False
        self._paths, self._skew_s = talk.paths, talk.ahead_s
        self._note_runs(self._outage.end())
        return talk

    def _hang_up(self) -> None:
        talk = self._talk
        if talk is not None:
            self._last, self._talk = talk.state, None
            talk.close()
            talk.release()

    def _taken(self, batch: Batch) -> Batch:
        self._known.take(batch)
        found = self._paths.batch(batch)
        if found.finished:
            self._finished.add(found.source.path)
        else:
            self._finished.discard(found.source.path)
        return found

"""Runs that are being read again: pieces of them come in one thread and are taken in another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from queue import Empty, SimpleQueue
from weakref import WeakValueDictionary

from rltui.core.batch import Batch
from rltui.core.errors import UnreachableError, VanishedError
from rltui.remote.ray.driver_process import LostError
from rltui.remote.ray.message import Again, Reread
from rltui.sources.follow.queued import Arriving

#: A node that sends nothing for this many seconds is not waited for.
_PATIENCE_S = 60.0


class Pieces:
    """What comes of one request, in order."""

    def __init__(self, request: Again) -> None:
        self.request = request
        self._queue: SimpleQueue[Reread] = SimpleQueue()

    @property
    def ready(self) -> bool:
        """Whether one is there."""
        return not self._queue.empty()

    def put(self, piece: Reread) -> None:
        """Append one."""
        self._queue.put(piece)

    def get(self) -> Reread:
        """The next one. Raises UnreachableError where nobody can read it now or none comes in
        time, VanishedError where the files do not hold it any more."""
        try:
            piece = self._queue.get(timeout=_PATIENCE_S)
        except Empty:
            raise UnreachableError("its node does not answer") from None
        if piece.lost:
            raise VanishedError("its files do not hold it any more")
        if piece.failure:
            raise UnreachableError(piece.failure)
        return piece


class Rereads:
    """Of one cluster."""

    def __init__(
        self,
        send: Callable[[Again], None],
        batches_of: Callable[[int, bytes], Iterator[Batch]],
        wait: Callable[[Pieces], None],
    ) -> None:
        """``send`` asks the node, and raises LostError; ``batches_of`` gives those of a piece by
        the number of its place; ``wait`` is called before a piece is taken."""
        self._send = send
        self._batches_of = batches_of
        self._wait = wait
        self._ids = count(1)
        self._open: WeakValueDictionary[int, Pieces] = WeakValueDictionary()

    def batches(self, requests: Sequence[Again]) -> Arriving:
        """What was read of a run; asked for when somebody first looks whether it is there."""
        run = _Run(requests, self._ask, self._taken)
        return Arriving(run.batches(), run.is_ready)

    def take(self, piece: Reread) -> None:
        """Keep a piece for whoever waits for it."""
        pieces = self._open.get(piece.id)
        if pieces is not None:
            pieces.put(piece)

    def fail(self, why: str) -> None:
        """Nothing more comes of what was asked for."""
        for reference in self._open.valuerefs():  # a list: another thread may ask meanwhile
            pieces = reference()
            if pieces is not None:
                pieces.put(Reread(pieces.request.id, failure=why))

    def _ask(self, request: Again) -> Pieces:
        pieces = Pieces(replace(request, id=next(self._ids)))
        self._open[pieces.request.id] = pieces
        try:
            self._send(pieces.request)
        except LostError as error:
            pieces.put(Reread(pieces.request.id, failure=str(error)))
        return pieces

    def _taken(self, pieces: Pieces) -> tuple[Iterator[Batch], bool]:
        """The batches of the next piece, and whether another one follows."""
        self._wait(pieces)
        piece = pieces.get()
        return self._batches_of(pieces.request.place, piece.batches), piece.more


class _Run:
    """One run that is read again."""

    def __init__(
        self,
        requests: Sequence[Again],
        ask: Callable[[Again], Pieces],
        take: Callable[[Pieces], tuple[Iterator[Batch], bool]],
    ) -> None:
        self._requests = requests
        self._ask = ask
        self._take = take
        self._asked: deque[Pieces] | None = None
        self._here: deque[Batch] = deque()

    def is_ready(self) -> bool:
        """Whether the next batch, or the end, is there."""
        asked = self._begun()
        return bool(self._here) or not asked or asked[0].ready

    def batches(self) -> Iterator[Batch]:
        """All of them."""
        asked = self._begun()
        while asked:
            found, more = self._take(asked[0])
            self._here.extend(found)
            if not more:
                asked.popleft()
            while self._here:
                yield self._here.popleft()

    def _begun(self) -> deque[Pieces]:
        if self._asked is None:
            self._asked = deque(map(self._ask, self._requests))
        return self._asked

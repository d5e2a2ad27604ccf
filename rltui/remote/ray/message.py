"""What the session's process, the driver and the nodes send each other. Records only."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rltui.core.batch import Batch, Note
from rltui.remote.ray.place import Place
from rltui.sources.discovery.log_head import EndSigns

#: (name of the run on the node, path of the file) -> its newest batch, without content.
Offsets = dict[tuple[str, Path], Batch]


@dataclass(frozen=True, slots=True)
class Reads:
    """How the nodes read."""

    logdirs: tuple[str, ...]
    """Paths on the nodes; empty: what Ray's workers write."""
    version: str
    """Of rltui: the nodes must have the same one."""
    fast_s: float
    slow_s: float
    rescan_s: float
    step_keys: tuple[str, ...] | None
    verify: bool
    waits: bool
    ends: EndSigns | None


@dataclass(frozen=True, slots=True)
class Opening:
    """To the driver: what to read, and what was read before."""

    address: str
    """Of the cluster: ``auto``, or HOST:PORT of its Ray Client server."""
    reads: Reads
    places: tuple[tuple[Place, str, Offsets], ...] = ()
    """The known places in the order of their numbers, with label and offsets."""


@dataclass(frozen=True, slots=True)
class Turn:
    """To a node: what to do in one call."""

    opens: tuple[tuple[int, Place, Offsets], ...] = ()
    """Places to begin with: number, place, what was handed over before."""
    looks: bool = False
    """Whether to say which places there are now."""
    patience_s: float = 0.0
    """How long to wait for news, seconds."""
    once: bool = False
    """Whether to read every file to its end once, instead of following it."""


@dataclass(frozen=True, slots=True)
class PlaceState:
    """What a reader knows beside the batches."""

    progress: tuple[int, int] = (0, 0)
    runs: tuple[str, ...] = ()
    """Names of all runs that were found."""
    notes: tuple[Note, ...] = ()
    unclaimed: tuple[Note, ...] = ()
    failure: str = ""
    """Why the place cannot be read; empty when it can."""
    ended: bool = False
    """Whether all has been read, once."""


@dataclass(frozen=True, slots=True)
class PlaceNews:
    """From a node: the news of one place."""

    place: int
    state: PlaceState | None
    """None when it is as before."""
    batches: bytes
    """Batches with the keys and paths of the node, see :func:`packed`; empty for none."""
    offsets: Offsets
    """Of the files in the batches, after these."""


@dataclass(frozen=True, slots=True)
class Turned:
    """From a node: the result of one call."""

    news: tuple[PlaceNews, ...]
    places: tuple[Place, ...] | None
    """All that there is to read, if asked."""
    version: str
    """Of rltui on the node."""


@dataclass(frozen=True, slots=True)
class Placed:
    """From the driver: a place, whose number is that of those before plus one."""

    place: Place
    label: str
    """What the names of its runs begin with; empty when no node owns it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """From the driver: who reads a place, or why nobody does."""

    place: int
    node: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class NodeTrouble:
    """From the driver: what is wrong with a node; empty when that is over."""

    node: str
    trouble: str


@dataclass(frozen=True, slots=True)
class Looked:
    """From the driver: every node was searched once; or it failed."""

    failure: str = ""


@dataclass(frozen=True, slots=True)
class Begin:
    """To the driver: read what was found."""

    once: bool
    """As in :class:`Turn`."""


@dataclass(frozen=True, slots=True)
class Alive:
    """From the driver, when there is nothing else to say."""

    ended: bool = False
    """Whether all has been read, once."""


def packed(batches: Sequence[Batch]) -> bytes:
    """Batches as the driver hands them on; tags repeat, so this is a fraction of the pickle."""
    return zlib.compress(pickle.dumps(batches, pickle.HIGHEST_PROTOCOL), 1)


def unpacked(data: bytes) -> list[Batch]:
    """The batches of :func:`packed`. Runs what the pickle says: only for what a node of the
    cluster sent, which may run code here anyway."""
    found: list[Batch] = pickle.loads(zlib.decompress(data))
    return found

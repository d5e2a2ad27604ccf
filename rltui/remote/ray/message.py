"""What the session's process, the driver and the nodes send each other. Records only."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from rltui.core.batch import Batch, Note, SourceInfo
from rltui.remote.ray.place import Place
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.discovery.run_files import RunFiles

#: (name of the run on the node, path of the file) -> its newest batch, without content.
Offsets = dict[tuple[str, Path], Batch]


class Task(Enum):
    """What a cluster is asked to do."""

    SEARCH = "search"
    """Say which runs there are, and of which files; read none."""
    ONCE = "once"
    """Read every file to its end."""
    FOLLOW = "follow"
    """Read what is there, and what is appended."""


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
    chooses: bool = False
    """Whether only runs are read that :class:`Chosen` names."""


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
    task: Task = Task.FOLLOW


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
    """Whether all that was asked for is done; nothing more comes."""
    searched: bool = False
    """Whether ``runs`` is the result of a search."""
    question: int = 0
    """Number of the question which of these runs to read, until it is answered; never the same
    twice. 0 for none."""


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
    found: tuple[RunFiles, ...] = ()
    """The runs with their files, if only a search was asked for."""
    unreadable: tuple[Path, ...] = ()
    """Those of them for which the node's user has no permission."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """To a node: runs of a place that are to be read, among all that it found."""

    place: int
    runs: tuple[str, ...]
    question: int = 0
    """That of :class:`PlaceState` which this answers; 0 for none."""


@dataclass(frozen=True, slots=True)
class Again:
    """To a node: read a run again, up to the offsets of its files. Asked for each piece."""

    id: int
    place: int
    run: str
    sources: Mapping[Path, SourceInfo]
    """Files of the run, with their paths on the node."""


@dataclass(frozen=True, slots=True)
class Reread:
    """From a node: a piece of a run that is read again."""

    id: int
    batches: bytes = b""
    """As in :class:`PlaceNews`."""
    more: bool = False
    lost: bool = False
    """Whether the files do not hold what was read before."""
    failure: str = ""
    """Why nobody can read it now."""


@dataclass(frozen=True, slots=True)
class Turned:
    """From a node: the result of one call."""

    news: tuple[PlaceNews, ...]
    places: tuple[Place, ...] | None
    """All that there is to read, if asked."""
    version: str
    """Of rltui on the node."""
    clock: tuple[float, float]
    """The node's time at the beginning and at the end of the call, seconds since the epoch."""
    memory_bytes: int
    """Resident in the node's process."""


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
    """Its id; empty for nobody."""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class NodeTrouble:
    """From the driver: what is wrong with a node; empty when that is over."""

    node: str
    trouble: str


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """From the driver: a node on which a reader runs."""

    node: Node
    places: int
    """Places that it has, whoever reads them."""
    ahead_s: tuple[float, float]
    """Its clock is ahead of the one here by at least and at most so many seconds."""
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Phase:
    """From the driver: what it waits for, in words for people."""

    text: str


@dataclass(frozen=True, slots=True)
class Looked:
    """From the driver: every node was searched for the places; or it failed."""

    failure: str = ""
    address: str = ""
    """Of the cluster."""
    version: str = ""
    """Of Ray."""


@dataclass(frozen=True, slots=True)
class Begin:
    """To the driver: do it."""

    task: Task


@dataclass(frozen=True, slots=True)
class Alive:
    """From the driver, when there is nothing else to say."""

    ended: bool = False
    """Whether all that was asked for is done."""


def packed(batches: Sequence[Batch]) -> bytes:
    """Batches as the driver hands them on; tags repeat, so this is a fraction of the pickle."""
    return zlib.compress(pickle.dumps(batches, pickle.HIGHEST_PROTOCOL), 1)


def unpacked(data: bytes) -> list[Batch]:
    """The batches of :func:`packed`. Runs what the pickle says: only for what a node of the
    cluster sent, which may run code here anyway."""
    found: list[Batch] = pickle.loads(zlib.decompress(data))
    return found


class ClusterError(Exception):
    """The cluster cannot be reached, or does not run what it is asked to; text for people."""


class CodeMissingError(ClusterError):
    """rltui is not installed on a node, in another version, or lacks a package."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node that is alive."""

    id: str
    name: str
    """As Ray was told, else the name of the host."""

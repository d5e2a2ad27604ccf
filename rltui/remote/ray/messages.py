"""What the session's process, the driver and the nodes send each other. Records only.

The bytes of streams pass through: each root that is read has a channel, which is one connection to
:class:`~rltui.remote.stream.Stream` on a node.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rltui.remote.wire.messages import State
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.discovery.run_files import RunFiles


class ClusterError(Exception):
    """The cluster cannot be reached, or does not run what it is asked to; text for people."""


class CodeMissingError(ClusterError):
    """rltui is not installed on a node, in another version, or lacks a package."""


class LogRoot(NamedTuple):
    """A directory or file of logs on one node, or on all that share its file system."""

    logdir: int
    """Number of the logdir that it belongs to."""
    path: Path
    """Absolute, on the node."""
    identity: str
    """The same for all nodes that see the same directory, different for all others."""
    shared: bool
    """Whether it lies on a file system of the network, so that no node owns it."""
    inside: str = ""
    """Prefix of its runs' names, which tells apart the roots of one logdir on the node."""
    prefix: str = ""
    """Only runs whose name begins so are read."""

    @property
    def key(self) -> tuple[int, str, str]:
        """Equal for one root seen from several nodes."""
        return self.logdir, self.inside, self.identity


class Node(NamedTuple):
    """A node that is alive."""

    id: str
    name: str
    """As Ray was told, else the name of the host."""


# -- from the session's process to the driver, which asks nodes ------------------------------------


class Wanted(NamedTuple):
    """How the nodes read."""

    logdirs: tuple[str, ...]
    """Paths on the nodes; empty: what Ray's workers write."""
    version: str
    """Of rltui: the nodes must have the same one."""
    ends: EndSigns | None = None


class Opening(NamedTuple):
    """What to read."""

    address: str
    """Of the cluster: ``auto``, or HOST:PORT of its Ray Client server."""
    reads: Wanted
    roots: tuple[tuple[LogRoot, str], ...] = ()
    """(root, label) of the known roots, in the order of their numbers."""


class ToNode(NamedTuple):
    """Bytes for the node that reads a root."""

    root: int
    channel: int
    data: bytes
    opens: bool = False
    """Whether the channel is a new one."""
    at: LogRoot | None = None
    """The root as the node sees it; the driver adds it for a new channel."""


class Failed(NamedTuple):
    """A root cannot be read: the driver assigns it anew when its node is searched next."""

    root: int


class Search(NamedTuple):
    """Asks which runs there are, and of which files."""

    root: int = 0
    at: LogRoot | None = None
    """The root as the node sees it; None on the way to the driver."""


# -- from the driver to the session's process ---------------------------------------------------


class NewRoot(NamedTuple):
    """A new root, which gets the next number."""

    root: LogRoot
    label: str
    """What the names of its runs begin with; empty when no node owns it."""


class Assigned(NamedTuple):
    """Which node reads a root from now on, or why none does. Its channels are reopened."""

    root: int
    node: str
    """Its id; empty for none."""
    trouble: str = ""


class FromNode(NamedTuple):
    """Bytes of a channel."""

    channel: int
    data: bytes
    ended: bool = False
    """Whether nothing more comes."""


class ChannelLost(NamedTuple):
    """A channel has ended with its actor. If it was following a root, that is assigned again."""

    channel: int
    why: str


class NodeTrouble(NamedTuple):
    """What is wrong with a node; empty when that is over."""

    node: str
    trouble: str


class NodeFacts(NamedTuple):
    """A node on which a reader runs."""

    node: Node
    roots: int
    """Roots that it has, whoever reads them."""
    clock_offset_s: tuple[float, float]
    """Its clock is ahead of the one here by at least and at most so many seconds."""
    memory_bytes: int


class Looked(NamedTuple):
    """The driver has searched every node for roots, or has failed."""

    failure: str = ""
    address: str = ""
    """Of the cluster."""
    version: str = ""
    """Of Ray."""


class Searched(NamedTuple):
    """The runs of a root, listed by its node."""

    root: int
    runs: tuple[RunFiles, ...] = ()
    unreadable: tuple[Path, ...] = ()
    """Logs for which the node's user has no permission."""
    state: State = State()
    failure: str = ""
    """Why it cannot be searched; empty when it can."""


class Alive:
    """Sign of life of the driver."""


# -- from a node to the driver -------------------------------------------------------------------


class NodeNews(NamedTuple):
    """The result of one call for news."""

    news: tuple[FromNode, ...]
    roots: tuple[LogRoot, ...] | None
    """All that there is to read, if asked."""
    version: str
    """Of rltui on the node."""
    clock: tuple[float, float]
    """The node's time at the beginning and at the end of the call, seconds since the epoch."""
    memory_bytes: int
    """Resident in the node's process."""

"""What the processes of a cluster's reader tell each other, beside the frames of streams."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rltui.core.errors import RltuiError
from rltui.sources.discovery.log_head import EndSigns


class ClusterError(RltuiError):
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


class Opening(NamedTuple):
    """What the session reads."""

    address: str
    """Of the cluster: ``auto``, or HOST:PORT of its Ray Client server."""
    logdirs: tuple[str, ...]
    """Paths on the nodes; empty: what Ray's workers write."""
    ends: EndSigns | None = None


class NodeLook(NamedTuple):
    """What a node has to read."""

    roots: tuple[LogRoot, ...]
    version: str
    """Of rltui on the node: it must be the one here."""

"""What a cluster consists of, and how it fails. Imports nothing of Ray."""

from __future__ import annotations

from dataclasses import dataclass


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

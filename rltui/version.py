"""The version of rltui, in a module of its own: the package imports its API when that is used."""

from __future__ import annotations

__version__ = "1.0.0"

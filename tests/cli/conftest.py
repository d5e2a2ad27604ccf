"""The command line as a function."""

from __future__ import annotations

from tests.commands.conftest import cli

__all__ = ["cli"]

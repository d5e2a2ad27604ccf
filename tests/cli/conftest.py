"""The command line as a function."""

from tests.commands.conftest import cli

__all__ = ["cli"]

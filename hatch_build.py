"""Adds to the wheel what is made from the table of verbs: manual page and completion scripts."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Needs shtab, and no other dependency: the table is read without them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        sys.path.insert(0, self.root)
        from rltui.cli.completion import completion_script
        from rltui.cli.manual import manual_page
        from rltui.cli.program import build_parser

        self._directory = tempfile.TemporaryDirectory()
        for target, text in {
            "man/man1/rltui.1": manual_page(),
            "bash-completion/completions/rltui": completion_script(build_parser(), "bash"),
            "zsh/site-functions/_rltui": completion_script(build_parser(), "zsh"),
            "fish/vendor_completions.d/rltui.fish": completion_script(build_parser(), "fish"),
        }.items():
            path = Path(self._directory.name, Path(target).name + Path(target).parts[0])
            path.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(path)] = f"share/{target}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        del version, build_data, artifact_path
        self._directory.cleanup()

"""Adds to the wheel what is made from the table of verbs: manual page and completion scripts; and
gives the README of the checkout, whose links are relative, links that an index can show."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

#: What stands before the path of a picture or of a link, in Markdown or HTML: no address follows,
#: and no heading.
_RELATIVE = re.compile(r'(?:(!\[[^]]*\]\(|\bsrc(?:set)?=")|(\]\(|\bhref="))(?!\w+:|#)')


def absolute(readme: str, source: str, version: str) -> str:
    """The README with links to the files of this version below the address ``source``."""

    def target(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[0]}{source}/{kind}/v{version}/"

    return _RELATIVE.sub(target, readme)


class Readme(MetadataHookInterface):
    """The description in the metadata of wheel and sdist."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        version = re.search(r'__version__ = "(.+)"', (root / "rltui/version.py").read_text("utf-8"))
        assert version is not None
        text = (root / "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, metadata["urls"]["Source"], version[1]),
        }


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

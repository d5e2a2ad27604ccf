"""Hook of MkDocs: links of the pages to files outside docs/ lead to the repository."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s]*)(\))")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: object) -> str:
    """The text of a page; a link that stays within docs/ is left as it is."""
    folder = posixpath.dirname(page.file.src_uri)

    def outside(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        if not target.startswith("../"):
            return link[0]
        return f"{link[1]}{config.extra['source']}{target.removeprefix('../')}{link[3]}"

    return _LINK.sub(outside, markdown)

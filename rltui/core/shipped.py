"""Finds the files that rltui ships: themes, the example config, catalogue and rules.

In an installed wheel they are inside the package (``rltui/themes``); in a checkout or an
editable install they are beside it (``themes/``). Never create ``rltui/themes`` in the tree.
"""

from __future__ import annotations

from pathlib import Path

from rltui.core.errors import RltuiError

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(*parts: str) -> Path:
    """Path of a shipped file or directory, for example ``shipped("themes", "dark.yaml")``.

    Searched in the package first, then beside it. Raises RltuiError when it is in neither.
    """
    for base in (_PACKAGE, _PACKAGE.parent):
        path = base.joinpath(*parts)
        if path.exists():
            return path
    raise RltuiError(f"the installation is incomplete: {'/'.join(parts)} is missing")

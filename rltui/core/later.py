"""Objects that are made when something of them is first used: regular expressions, since to compile
one takes longer than to search most logs with it, and numpy, since who asks what a rule means needs
none."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, AnyStr, cast

__all__ = ["np", "regex"]


class _Later:
    """Stands for an object that ``make`` returns, the same each time."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __deepcopy__(self, memo: object) -> _Later:
        """Itself: it never changes."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a question about any object
            raise AttributeError(name)
        found = getattr(self._make(), name)
        setattr(self, name, found)  # the next time nothing stands between
        return found


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The expression ``text``, compiled on first use. It has the methods of one, and is equal to
    itself alone; functions of :mod:`re` do not take it."""
    return cast("re.Pattern[AnyStr]", _Later(partial(re.compile, text, flags)))


if TYPE_CHECKING:
    import numpy as np
else:
    np = _Later(partial(import_module, "numpy"))

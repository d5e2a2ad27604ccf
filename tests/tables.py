"""Tables of cases in YAML, beside the test that reads them: inputs are texts, claims are values."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def table(test: str, name: str | None = None) -> Any:
    """The document ``NAME.yaml`` beside a module, given as its ``__file__``; the name of the
    module without ``test_`` by default."""
    module = Path(test)
    document = module.with_name((name or module.stem.removeprefix("test_")) + ".yaml")
    return _read(document)


@cache
def _read(document: Path) -> Any:
    return yaml.load(document.read_text(encoding="utf-8"), _LOADER)


def cases(
    test: str, key: str, argument: str | None = None, ids: Callable[[Any], str] | None = None
) -> pytest.MarkDecorator:
    """Run a test once for each entry below ``key``.

    An entry is a mapping whose keys are the arguments of the test, or the value of ``argument``.
    Entries that have names give them to the cases.
    """
    entries = table(test)[key]
    names = list(entries) if isinstance(entries, dict) else None
    values = list(entries.values()) if isinstance(entries, dict) else entries
    if argument is not None:
        return pytest.mark.parametrize(argument, values, ids=ids or names)
    arguments = list(values[0])
    rows = [[entry[name] for name in arguments] for entry in values]
    return pytest.mark.parametrize(arguments, rows, ids=ids or names)

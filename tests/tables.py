"""Tables of cases in YAML, beside the test that reads them: inputs are texts, claims are values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def table(test: str, name: str | None = None) -> Any:
    """The document ``NAME.yaml`` beside a module, given as its ``__file__``; the name of the
    module without ``test_`` by default."""
    module = Path(test)
    document = module.with_name((name or module.stem.removeprefix("test_")) + ".yaml")
    return yaml.load(document.read_text(encoding="utf-8"), _LOADER)

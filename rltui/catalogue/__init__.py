"""What a tag means. Metrics, dialects of frameworks, scenarios, recognition.

Start at :func:`load_catalogue`; the data are in ``data/*.yaml``.
"""

from rltui.catalogue.catalogue import Catalogue, Dialect, load_catalogue
from rltui.catalogue.model import (
    Category,
    Derivation,
    Explanation,
    Metric,
    Question,
    Range,
    Recognition,
    Roles,
    Scenario,
    TagInfo,
    select,
)
from rltui.catalogue.resolve import Resolver

__all__ = [
    "Catalogue",
    "Category",
    "Derivation",
    "Dialect",
    "Explanation",
    "Metric",
    "Question",
    "Range",
    "Recognition",
    "Resolver",
    "Roles",
    "Scenario",
    "TagInfo",
    "load_catalogue",
    "select",
]

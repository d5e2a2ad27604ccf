"""Catalogue of meanings of tags: metrics, dialects of frameworks, scenarios, recognition.

Start at :func:`load_catalogue`; the data are in ``data/*.yaml``.
"""

from rltui.catalogue.catalogue import Catalogue, load_catalogue
from rltui.catalogue.model import Category, Range, TagInfo, select

__all__ = ["Catalogue", "Category", "Range", "TagInfo", "load_catalogue", "select"]

"""Reads logdirs wherever they are: :func:`open_reader` gives one reader for all of them.

What this machine and fsspec can open is read by :class:`rltui.sources.Reader`; ``readers`` joins
several readers into one.
"""

from rltui.remote.part import Wishes
from rltui.remote.readers import open_reader

__all__ = ["Wishes", "open_reader"]

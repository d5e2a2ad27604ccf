"""Reads logdirs wherever they are: :func:`open_reader` gives one reader for all of them.

What this machine and fsspec can open is read by :class:`rltui.sources.Reader`. Other hosts and the
nodes of a cluster run ``stream``, and a ``conversation`` with each brings what that has read;
``joined`` makes one reader of several.
"""

from rltui.remote.opening import open_reader
from rltui.remote.reader_options import ReaderOptions

__all__ = ["ReaderOptions", "open_reader"]

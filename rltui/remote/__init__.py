"""Reads logdirs wherever they are: :func:`open_reader` returns one reader for all of them.

:class:`rltui.sources.Reader` reads what this machine and fsspec can open. Other hosts and the nodes
of a Ray cluster run ``stream``; ``conversation`` receives their batches; ``joined`` combines
several readers into one.
"""

from rltui.remote.opening import Reading, open_reader
from rltui.sources.options import ReaderOptions

__all__ = ["ReaderOptions", "Reading", "open_reader"]

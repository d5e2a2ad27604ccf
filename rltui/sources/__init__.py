"""Finds the logs of trainings and follows them: files -> batches. Knows no metric.

``discovery`` finds runs and their files: ``walk`` searches directories, ``grouping`` puts the logs
of one training together, ``logdir`` names runs. ``follow`` reads them: ``reader`` is the way in,
``loop`` its thread, ``schedule`` says when to poll what, a ``feed`` reads one file, store or pipe.
``side_files`` are read on demand: samples, settings. ``options`` are those of every reader.
"""

from rltui.sources.follow.reader import Reader
from rltui.sources.options import Intervals

__all__ = ["Intervals", "Reader"]

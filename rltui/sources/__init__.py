"""The files of training runs -> batches. Knows nothing of what a tag means.

``logdir`` finds runs and files (``walk`` looks, ``grouping`` says which are of one training),
``watch`` says when to look, ``tail`` reads what was appended,
``formats`` decode it, ``feed`` joins the two for one file, ``reader`` runs all of it;
``overview`` samples a large file before it is read.
"""

from rltui.sources.discovery.logdir import discover
from rltui.sources.discovery.run_files import Discovery, LogFile, RunFiles
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.sample import Limits, Overview
from rltui.sources.follow.schedule import Intervals, Watching

__all__ = [
    "Discovery",
    "Intervals",
    "Limits",
    "LogFile",
    "Overview",
    "Reader",
    "RunFiles",
    "Watching",
    "discover",
]

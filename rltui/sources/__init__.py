"""Floor 2: the files of training runs -> batches. Knows nothing of what a tag means.

``logdir`` finds runs and files, ``watch`` says when to look, ``tail`` reads what was appended,
``formats`` decode it, ``feed`` joins the two for one file, ``reader`` runs all of it;
``overview`` samples a large file before it is read.
"""

from rltui.sources.logdir import Discovery, LogFile, RunFiles, discover
from rltui.sources.overview import Limits, Overview
from rltui.sources.reader import Reader
from rltui.sources.watch import Intervals, Watching

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

"""Options of readers, wherever the logs are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from typing import NamedTuple

from rltui.core.batch import RunKey
from rltui.core.clock import Clock, SystemClock
from rltui.core.record import record
from rltui.sources.discovery.log_head import EndSigns

#: Chooses the runs to read among all that were found. Called in the thread that searches.
Choose = Callable[[Collection[RunKey]], Collection[RunKey]]
#: Whether a log that is joined to a run is wanted, by the key that it would have alone.
Wants = Callable[[RunKey], bool]


class Intervals(NamedTuple):
    """How often to poll, as the section ``watch`` of the configuration says."""

    fast_s: float = 0.25
    """Seconds between two polls of a file that is being written."""
    slow_s: float = 5.0
    """Seconds between two polls of a file that has been quiet for a while."""
    rescan_s: float = 5.0
    """Seconds between two checks of the directories for new files."""
    inotify: bool = True
    """Whether the system may wake the reader sooner."""
    remote_s: float = 5.0
    """Least seconds between two listings of a directory of a server or bucket."""


@record
class ReaderOptions:
    """How a session wants logs to be found and read."""

    clock: Clock = field(default_factory=SystemClock)
    watch: Intervals = field(default_factory=Intervals)
    choose: Choose | None = None
    """None to read all."""
    wants: Wants | None = None
    """Not asked by other hosts."""
    step_keys: Sequence[str] | None = None
    ends: EndSigns | None = None
    """Recognises logs of jobs that died before their first row."""
    verify: bool = False
    waits: bool = False
    """Whether a named file that is empty is no error."""
    partial: bool = False
    """Whether a logdir that cannot be read is no error while another one can."""
    later: bool = False
    """Whether threads do all searching once the reader is started, if any logdir is remote."""
    absent: bool = False
    """Whether a logdir of this machine need not exist yet."""
    pipe: int = 0
    """File descriptor that the logdir ``-`` means."""

"""Options of readers, wherever the logs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import SourceError
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.follow.schedule import Choose, Intervals, Wants


class NotInstalledError(SourceError):
    """A host does not have what a reader of its logs needs."""


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """How a session wants logs to be found and read."""

    clock: Clock = field(default_factory=SystemClock)
    watch: Intervals = field(default_factory=Intervals)
    choose: Choose | None = None
    """Selects the runs to read among all found; given every run of each search."""
    wants: Wants | None = None
    """Whether to read a run for a log that is joined to it; not asked by other hosts."""
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

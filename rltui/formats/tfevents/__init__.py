"""TensorBoard event files: torch, tensorboardX, TF2, and everything built on them.

Modules: ``framing`` (records and checksums), ``event_record`` (one payload), ``scalar_span`` (one
scalar record, shared wall times), ``step_template`` (whole steps at once),
``scan`` (records in any order), ``non_scalar`` (text, hyperparameters), ``event_decoder`` (all of
it together), ``event_sampler`` (windows of large files).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rltui.formats.base import Belonging, Decoder, Format, Options, Sampler
from rltui.formats.tfevents.event_decoder import TfEventsDecoder
from rltui.formats.tfevents.event_sampler import EventSampler
from rltui.formats.tfevents.step_template import TemplateCache


class TfEvents(Format):
    """The format ``tfevents``. Its decoders share templates, since runs of a project log the
    same tags."""

    name = "tfevents"
    files = "`*tfevents*`"
    written_by = (
        "TensorBoard writers of torch, TensorFlow and tensorboardX: old and new scalar styles, "
        "text, hyperparameters, several files a run, resumed runs"
    )
    precision_rank = 2
    name_decides = True
    sub_runs = True
    kept_open = True

    def __init__(self) -> None:
        self._templates = TemplateCache()

    def belonging(self, name: str) -> Belonging:
        return Belonging.DIRECTORY

    def claims_name(self, name: str) -> bool:
        """As in TensorBoard (tensorboard/backend/event_processing/io_wrapper.py)."""
        return "tfevents" in name and not name.endswith((".profile-empty", ".gz"))

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        """By name: an event file may be empty or corrupt from its first byte."""
        return self.claims_name(path.name)

    def sampler(self) -> Callable[[bytes, Options], Sampler]:
        """Records are found anywhere by the checksums of their headers."""
        return EventSampler

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        return TfEventsDecoder(options or Options(), self._templates)

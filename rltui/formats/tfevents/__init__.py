"""TensorBoard event files: torch, tensorboardX, TF2, and everything built on them.

Modules: ``framing`` (records and checksums), ``record`` (one payload), ``spot`` (one scalar
record), ``moment`` (shared wall times), ``template`` (whole steps at once), ``scan`` (records in
any order), ``odd`` (text, hyperparameters), ``decoder`` (all of it together).
"""

from __future__ import annotations

from pathlib import Path

from rltui.formats.base import Belonging, Decoder, Growth, Options
from rltui.formats.tfevents.event_decoder import TfEventsDecoder
from rltui.formats.tfevents.step_template import TemplateCache


class TfEvents:
    """The format ``tfevents``. Its decoders share templates: runs of a project log alike."""

    name = "tfevents"
    files = "`*tfevents*`"
    written_by = (
        "TensorBoard writers of torch, TensorFlow and tensorboardX: old and new scalar styles, "
        "text, hyperparameters, several files a run, resumed runs"
    )
    lacks = ""
    growth = Growth.APPENDED
    precision_rank = 2
    anywhere = False

    def __init__(self) -> None:
        self._templates = TemplateCache()

    def belonging(self, name: str) -> Belonging:  # noqa: ARG002
        """As TensorBoard does it: a directory is a run."""
        return Belonging.DIRECTORY

    def claims_name(self, name: str) -> bool:
        """As TensorBoard does it (tensorboard/backend/event_processing/io_wrapper.py)."""
        return "tfevents" in name and not name.endswith(".profile-empty")

    def claims(
        self,
        path: Path,
        head: bytes,  # noqa: ARG002 - the name decides
        options: Options | None = None,  # noqa: ARG002
    ) -> bool:
        """The name decides: an event file may be empty, or corrupt at its very beginning."""
        return self.claims_name(path.name)

    def decoder(
        self,
        options: Options | None = None,
        path: Path | None = None,  # noqa: ARG002
    ) -> Decoder:
        """A fresh decoder for one file."""
        return TfEventsDecoder(options or Options(), self._templates)

"""TensorBoard event files: torch, tensorboardX, TF2, and everything built on them.

Modules: ``framing`` (records and checksums), ``event_record`` (one payload), ``step_template``
(whole steps at once), ``scan`` (records in any order), ``event_decoder`` (all of it together).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rltui.formats.base import Decoder, Format, Options, RowSpan, Sampler
from rltui.formats.tfevents.event_decoder import TfEventsDecoder
from rltui.formats.tfevents.event_record import scalar_at
from rltui.formats.tfevents.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    encoded,
    next_header,
    valid_header,
)
from rltui.formats.tfevents.step_template import TemplateCache

#: Records read at most to learn how long a step is.
_HEAD_RECORDS = 6000
#: Bytes before a tag in which the header of its record lies.
_NEAR = 64


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

    def claims_name(self, name: str) -> bool:
        """Tell by the rule of TensorBoard (tensorboard/backend/event_processing/io_wrapper.py)."""
        return "tfevents" in name and not name.endswith((".profile-empty", ".gz"))

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        """Claim by name alone: an event file may be empty or corrupt from its first byte."""
        return True

    def sampler(self) -> Callable[[bytes, Options], Sampler]:
        """Records are found anywhere by the checksums of their headers."""
        return EventSampler

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        return TfEventsDecoder(options, self._templates)


class EventSampler:
    """Finds records in windows of an event file; made from the beginning of the file."""

    def __init__(self, head: bytes, options: Options) -> None:
        self.step_bytes, self._leader = _first_step(head)
        self._options = options
        self._templates = TemplateCache()
        """Its own: templates of pieces of rows must not reach those that read whole files."""

    def decoder(self) -> Decoder:
        return TfEventsDecoder(self._options, self._templates)

    def rows_in(self, window: bytes, *, first: bool, last: bool) -> RowSpan:
        """Whole steps, which are decoded at once, where a tag leads them; else from any record on:
        the first step and the last one may be cut."""
        size = len(window)
        begin = 0 if first else _header(window, window.find(self._leader, _NEAR))
        end = size if last else _header(window, window.rfind(self._leader, _NEAR))
        if self._leader and 0 <= begin < end:
            return RowSpan(begin, end, True)
        return RowSpan(0 if first else next_header(window, 1), size, False)


def _header(data: bytes, tag: int) -> int:
    """The header of the record whose tag is encoded at this position; -1 for none."""
    near = range(tag - HEADER_BYTES, max(0, tag - _NEAR), -1)
    return next((pos for pos in near if valid_header(data, pos) > 0), -1)


def _first_step(head: bytes) -> tuple[int, bytes]:
    """Bytes of the first whole step, or what there is of it, and the encoded tag that begins it.

    (0, b"") where no scalar is found.
    """
    pos = 0
    seen = 0
    began = 0
    step = None
    leader = b""
    while pos + HEADER_BYTES <= len(head) and seen < _HEAD_RECORDS:
        length = valid_header(head, pos)
        if length < 0 or pos + length + FRAME_BYTES > len(head):
            break
        span = scalar_at(head, pos, length, {})
        if span is not None:
            seen += 1
            if step is not None and span.step != step:
                if leader:
                    return pos - began, leader
                tag = span.scalars[0].tag
                began = pos
                leader = b"\x0a" + encoded(len(tag)) + tag
            step = span.step
        pos += length + FRAME_BYTES
    # a step that does not end within the head is at least as long as what was seen of it
    return (0 if step is None else pos), leader

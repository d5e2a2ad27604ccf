"""TensorBoard event files: torch, tensorboardX, TF2, and everything built on them.

Modules: ``framing`` (records and checksums), ``event_record`` (one payload), ``step_template``
(whole steps at once), ``scan`` (records in any order), ``event_decoder`` (all of it together).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rltui.formats.base import Belonging, Decoder, Format, Options, RowSpan, Sampler
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
#: Bytes before a tag in which the header of its record is searched.
_BEFORE_TAG = 64
#: Occurrences of the first tag's bytes that are tried: other tags may begin with it.
_TRIES = 64


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
        """Claim by name alone: an event file may be empty or corrupt from its first byte."""
        return self.claims_name(path.name)

    def sampler(self) -> Callable[[bytes, Options], Sampler]:
        """Records are found anywhere by the checksums of their headers."""
        return EventSampler

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        return TfEventsDecoder(options or Options(), self._templates)


class EventSampler:
    """Finds whole steps in windows of an event file; made from the beginning of the file."""

    def __init__(self, head: bytes, options: Options) -> None:
        self.step_bytes, self._leader = _first_step(head)
        self._options = options
        self._templates = TemplateCache()
        """Its own: templates of pieces of rows must not reach those that read whole files."""

    def decoder(self) -> Decoder:
        return TfEventsDecoder(self._options, self._templates)

    def rows_in(self, window: bytes, *, first: bool, last: bool) -> RowSpan:
        """From the first record with the leading tag (or the beginning of the file) to the last
        (or the end of the file); else from any record on."""
        size = len(window)
        begin = 0 if first else self._led(window, range(HEADER_BYTES, size))
        if begin < 0:
            return RowSpan(next_header(window, 1), size, False)
        if last:
            return RowSpan(begin, size, True)
        end = self._led(window, range(size, begin + HEADER_BYTES * first, -1))
        return RowSpan(begin, end, True) if end > begin else RowSpan(begin, size, False)

    def _led(self, data: bytes, span: range) -> int:
        """Position of the first record with the leading tag along ``span``; -1 for none."""
        leader = self._leader
        if not leader or not span:
            return -1
        low, high = min(span[0], span[-1]), max(span[0], span[-1])
        for _ in range(_TRIES):
            place = data.find(leader, low, high) if span.step > 0 else data.rfind(leader, low, high)
            if place < 0:
                return -1
            pos = _header_before(data, place, leader)
            if pos >= 0:
                return pos
            if span.step > 0:
                low = place + 1
            else:
                high = place + len(leader) - 1

        return -1


def _header_before(data: bytes, place: int, leader: bytes) -> int:
    """The header of the scalar record whose tag field lies at ``place``; -1 when it is none."""
    for pos in range(place - HEADER_BYTES, max(-1, place - _BEFORE_TAG), -1):
        length = valid_header(data, pos)
        if place - pos < length and pos + length + FRAME_BYTES <= len(data):
            span = scalar_at(data, pos, length, {})
            if span is not None and _tag_field(span.scalars[0].tag) == leader:
                return pos
    return -1


def _first_step(head: bytes) -> tuple[int, bytes]:
    """Bytes of the first whole step, and the encoded tag that begins it.

    (0, b"") when no step is found.
    """
    pos, seen, began, leader = 0, 0, 0, b""
    step: int | None = None
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
                began, leader = pos, _tag_field(span.scalars[0].tag)
            step = span.step
        pos += length + FRAME_BYTES
    # a step that does not end within the head is at least as long as what was seen of it
    return (pos if step is not None else 0), leader


def _tag_field(tag: bytes) -> bytes:
    return b"\x0a" + encoded(len(tag)) + tag

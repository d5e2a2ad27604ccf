"""The decoder of event files: templates for most rows, record by record for the rest."""

from __future__ import annotations

from itertools import chain
from types import ModuleType

import numpy as np

from rltui.core.batch import MediaKind, MediaPlace, TextPoint
from rltui.core.errors import UsageError
from rltui.core.installation import need
from rltui.core.level import Level
from rltui.formats.base import MAX_TEXT, Decoded, Decoder, NoteBook, Options, clean_tag, clean_text
from rltui.formats.row_sink import RowSink, layout_of
from rltui.formats.tfevents.event_record import (
    DTYPES,
    NO_GROUP,
    SCALARS,
    TENSOR,
    Event,
    ScalarSpan,
    StepGroup,
    Value,
    parse_event,
    scalar_at,
)
from rltui.formats.tfevents.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    MalformedError,
    checksum_fits,
    fields,
    is_intact,
    next_header,
    valid_header,
)
from rltui.formats.tfevents.scan import scan
from rltui.formats.tfevents.step_template import StepTemplate, TemplateCache

#: Longer rows are returned in pieces instead of held back until they are complete.
_MAX_HELD = 1 << 20
#: A run of fewer scalars is not worth a template; one of more bytes is read alone anyway.
_MIN_TEMPLATE = 4
_MAX_TEMPLATE = 1 << 22
#: Longer records are skipped: no step has that many scalars, but an image may be that large.
_MAX_RECORD = 1 << 22
#: Bytes of new data that are joined with the unfinished rest of the previous data.
_SEAM = 1 << 16
#: Scalars read one by one before a scan is tried: at first, and after a scan.
_PATIENCE = 512
_PATIENCE_AFTER_SCAN = 16
#: A template pays if it matches this many scalars at a time, unless little data is left.
_TEMPLATE_COST = 128
_MUCH = 1 << 14
#: Templates learned without any match, after which further records use up the patience even
#: if a template is learned from them.
_TRUST = 16
#: Plugins of values that are no scalars.
_TEXT = b"text"
_HPARAMS = b"hparams"
_STRING_VAL = 8
#: Plugin, or field of a value that is no tensor -> what it holds.
_MEDIA: dict[bytes | int, MediaKind] = {
    b"histograms": MediaKind.HISTOGRAM,
    b"images": MediaKind.PICTURE,
    b"pr_curves": MediaKind.CURVE,
    4: MediaKind.PICTURE,
    5: MediaKind.HISTOGRAM,
}
#: Bytes of the first scan. A further one covers twice as many, or a quarter if most of them were
#: scanned in vain, so that records which end a scan do not make the whole quadratic.
_FIRST_WINDOW = 1 << 18
_MIN_WINDOW = 1 << 12
_MAX_WINDOW = 1 << 21


class TfEventsDecoder(Decoder):
    """Decodes one event file. Not thread-safe; runs share the cache of templates."""

    def __init__(self, options: Options, shared: TemplateCache) -> None:
        self._verify = options.verify
        self._shared = shared
        self._own = TemplateCache()
        self._waiting: list[bytes] = []
        self._have = 0
        self._need = HEADER_BYTES
        self._offset = 0
        self._lost = False
        self._held = False
        self._step_group = NO_GROUP
        self._plugins: dict[bytes, bytes] = {}
        self._sink = RowSink()
        self._notes = NoteBook()
        self._texts: list[TextPoint] = []
        self._media: list[MediaPlace] = []
        self._hparams: dict[str, object] = {}
        self._records = 0
        self._sizes: dict[tuple[bytes, int], int] = {}
        """Bytes of the newest run of records with this beginning that matched no template."""
        self._patience = _PATIENCE
        self._trust = _TRUST
        self._window = _FIRST_WINDOW

    @property
    def holds_row(self) -> bool:
        return self._held

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        if data:
            self._waiting.append(data)
            self._have += len(data)
        if self._have < self._need and (more or not self._held):
            return Decoded()

        waiting = self._waiting
        pos = 0
        scanning = self._patience <= _PATIENCE_AFTER_SCAN
        if len(waiting) == 2 and len(waiting[1]) > 2 * _SEAM and not scanning:
            # joining two large pieces costs more than decoding them, so only the seam is joined
            tail, data = waiting
            pos = self._parse(tail + data[:_SEAM], 0, True)
            if pos >= len(tail):
                waiting = [data]
                pos -= len(tail)
                self._offset += len(tail)

        buffer = waiting[0] if len(waiting) == 1 else b"".join(waiting)
        used = self._parse(buffer, pos, more)
        self._offset += used
        rest = buffer[used:]
        self._waiting, self._have = ([rest] if rest else []), len(rest)

        texts = tuple(self._texts)
        self._texts = []
        hparams = self._hparams
        self._hparams = {}
        records = self._records
        self._records = 0
        media = tuple(self._media)
        self._media = []
        return Decoded(self._sink.take(), texts, hparams, self._notes.take(), records, media=media)

    @np.errstate(invalid="ignore")
    def _parse(self, data: bytes, pos: int, more: bool) -> int:
        """Decode as many records as possible from ``pos`` on; returns where it stopped."""
        end = len(data)
        self._held = False
        self._need = HEADER_BYTES
        while True:
            if self._lost:
                found = next_header(data, pos)
                self._lost = found < 0  # the last bytes may still become a header
                pos = max(pos, end - HEADER_BYTES + 1) if self._lost else found
            if end - pos < HEADER_BYTES:
                return pos
            length = valid_header(data, pos)
            if length < 0:
                self._lose(pos, "corrupt record: the checksum of its length is wrong")
                pos += 1
                continue
            if pos + length + FRAME_BYTES > end:
                self._need = length + FRAME_BYTES
                return pos
            if not is_intact(data, pos, length):
                if pos + length + FRAME_BYTES + HEADER_BYTES > end:
                    self._need = length + FRAME_BYTES + HEADER_BYTES
                    return pos
                self._lose(pos, "corrupt record: its checksum is wrong")
                self._records += 1
                pos += 1
                continue
            used = self._record(data, pos, length, more)
            if not used:
                self._held = True
                self._need = end - pos + 1
                return pos
            pos += used

    def _lose(self, pos: int, kind: str) -> None:
        self._notes.add(self._offset + pos, kind)
        self._lost = True

    def _record(self, data: bytes, pos: int, length: int, more: bool) -> int:
        """Decode at least the record at ``pos``; returns bytes consumed, 0 to wait for more."""
        if length > _MAX_RECORD:
            self._notes.add(self._offset + pos, "record is too long", level=Level.OK)
            self._records += 1
            return length + FRAME_BYTES

        span = scalar_at(data, pos, length, self._plugins, self._verify)
        if span is None:
            return self._event(data, pos, length)
        used = self._by_template(data, span, more) if self._patience > 0 else None
        if used is None and self._patience <= 0:
            used = self._by_scan(data, pos)
        return self._by_run(data, span, more) if used is None else used

    def _by_template(self, data: bytes, span: ScalarSpan, more: bool) -> int | None:
        """Decode rows that equal a known template; None when none match, 0 to wait for more."""
        key = span.key
        start = span.start
        end = len(data)
        for template in (*self._own.get(key), *self._shared.get(key)):
            if template.size > end - start:
                if more and template.size < _MAX_HELD:
                    return 0
                continue
            rows, self._step_group = template.read(
                data, start, self._step_group, self._verify, self._sink
            )
            if rows:
                used = rows * template.size
                self._records += rows * template.count
                self._trust = min(_TRUST, self._trust + rows)
                cost = _TEMPLATE_COST if end - start - used > _MUCH else 0
                gain = rows * template.scalars - cost
                self._patience = min(_PATIENCE, self._patience + gain)
                return used
        return None

    def _by_run(self, data: bytes, first: ScalarSpan, more: bool) -> int:
        """Decode records one by one as long as they belong to the same row."""
        group = self._step_group.next(first.step, first.bits)
        spans, torn = self._run(data, first, group)
        size = spans[-1].stop - first.start
        if torn and more and size < _MAX_HELD:
            return 0
        self._step_group = group
        self._records += len(spans)
        scalars = list(chain.from_iterable(span.scalars for span in spans))
        if len(scalars) >= _MIN_TEMPLATE and self._learn(data, spans, torn) and self._trust > 0:
            self._trust -= 1
        else:
            self._patience -= len(scalars)

        if len(scalars) == 1:
            layout = layout_of((scalars[0].tag,), DTYPES[scalars[0].kind])
            self._sink.point(layout, group.step, group.wall, scalars[0].number)
            return size
        for kind, dtype in DTYPES.items():
            if own := [s for s in scalars if s.kind == kind]:
                layout = layout_of(tuple(s.tag for s in own), dtype)
                self._sink.row(layout, group.step, group.wall, [s.number for s in own])
        return size

    def _learn(self, data: bytes, spans: list[ScalarSpan], torn: bool) -> bool:
        """Make a template from a run, unless it may be half a row of a known template."""
        key = spans[0].key
        size = spans[-1].stop - spans[0].start
        if spans[0].step_width > 8 or size > _MAX_TEMPLATE:  # a step of more bytes is negative
            return False
        if self._own.get(key) or self._shared.get(key):
            seen = self._sizes.get(key)
            self._sizes[key] = size
            if torn or seen != size:
                return False

        template = StepTemplate(data, spans)
        (self._shared if template.free else self._own).add(key, template)
        return True

    def _run(
        self, data: bytes, span: ScalarSpan, step_group: StepGroup
    ) -> tuple[list[ScalarSpan], bool]:
        """The records of scalars from the intact one ``span`` on that belong to its step group and
        have distinct tags, and whether they ended because the data ended."""
        spans = [span]
        row = (step_group.step, span.step_width)
        end = len(data)
        tags = {scalar.tag for scalar in span.scalars}
        while True:
            pos = span.stop
            length = valid_header(data, pos) if end - pos >= HEADER_BYTES else -1
            torn = end - pos < HEADER_BYTES or (length >= 0 and pos + length + FRAME_BYTES > end)
            if length < 0 and len(spans) > 1 and not is_intact(data, span.start, span.length):
                spans.pop()
            if length < 0 or torn:
                return spans, torn
            following = scalar_at(data, pos, length, self._plugins, self._verify)
            if following is None or (following.step, following.step_width) != row:
                return spans, False
            more = [scalar.tag for scalar in following.scalars]
            if not (tags.isdisjoint(more) and step_group.holds(following.bits)):
                return spans, False
            span = following
            tags.update(more)
            spans.append(span)

    def _by_scan(self, data: bytes, pos: int) -> int | None:
        """Decode the next records in any order; None when that fails too."""
        group = self._step_group
        plugins = self._plugins
        found = scan(
            data, pos, self._window, group, plugins, self._ends_scan, self._verify, self._sink
        )
        self._patience = _PATIENCE_AFTER_SCAN
        scanned = min(self._window, len(data) - pos)
        if found is None or 4 * (found.stop - pos) < scanned:
            self._window = max(self._window // 4, _MIN_WINDOW)
        else:
            self._window = min(2 * self._window, _MAX_WINDOW)

        if found is None:
            return None
        self._step_group = found.step_group
        self._records += found.records
        for place, length in found.others:
            self._event(data, place, length)
        return found.stop - pos

    def _ends_scan(self, data: bytes, pos: int, length: int) -> bool:
        """Whether a record that is not a plain scalar affects the records around it."""
        if self._verify and not checksum_fits(data, pos, length):
            return True
        try:
            event = parse_event(data, pos + HEADER_BYTES, length)
        except MalformedError:
            return True
        return event.restart or any(
            (value.plugin and value.tag not in self._plugins)
            or value.is_number(self._plugins)
            or (value.kind == TENSOR and self._plugins.get(value.tag, SCALARS) == SCALARS)
            for value in event.values
        )

    def _event(self, data: bytes, pos: int, length: int) -> int:
        """Decode one record of any kind; returns the bytes consumed."""
        self._records += 1
        if self._verify and not checksum_fits(data, pos, length):
            self._lose(pos, "corrupt record: its checksum is wrong")
            return 1

        try:
            event = parse_event(data, pos + HEADER_BYTES, length)
        except MalformedError as problem:
            if checksum_fits(data, pos, length):
                self._notes.add(self._offset + pos, "record is no event", str(problem))
                return length + FRAME_BYTES
            # a torn record's length may cover later records: search inside it
            self._lose(pos, "corrupt record: its checksum is wrong")
            return 1

        if event.restart:
            self._sink.restart(event.step)
        for value in event.values:
            try:
                self._value(data, event, value)
            except UsageError as lacking:
                self._notes.add(self._offset + pos, str(lacking))
            kind = None  # for a number or a text
            if value.message is not None:
                kind = _MEDIA[value.message[0]]
            elif value.tensor is not None:
                kind = _MEDIA.get(self._plugins.get(value.tag, SCALARS))
            if kind is not None:
                at = self._offset + pos
                size = length + FRAME_BYTES
                self._media.append(MediaPlace(clean_tag(value.tag), kind, event.step, at, size))
        return length + FRAME_BYTES

    def _value(self, data: bytes, event: Event, value: Value) -> None:
        plugin = self._plugins.get(value.tag, SCALARS)
        if value.plugin:  # the first event of a tag names it for all events
            plugin = self._plugins.setdefault(value.tag, value.plugin)
        number = value.number_in(data) if value.is_number(self._plugins) else None
        if number is None and plugin == _TEXT and value.tensor is not None:
            text = _text_of(data[slice(*value.tensor)])
            if text is not None:
                wall = StepGroup(event.step, event.bits).wall
                self._texts.append(TextPoint(clean_tag(value.tag), event.step, wall, text))
        elif number is None and plugin == _HPARAMS and value.content is not None:
            self._hparams.update(_protobuf().hparams_of(data[slice(*value.content)]))
        elif value.kind == TENSOR and plugin == SCALARS and value.tensor is not None:
            number = _protobuf().number_of(data[slice(*value.tensor)])

        if number is not None:
            group = self._step_group = self._step_group.next(event.step, event.bits)
            layout = layout_of((value.tag,), DTYPES.get(value.kind, np.float64))
            self._sink.point(layout, event.step, group.wall, number)


def _protobuf() -> ModuleType:
    """The module that reads values with TensorBoard's own messages; UsageError without them."""
    need("a setting or rare kind of number", "tensorboard")
    # it takes 20 ms to import, and most files have no such value
    from rltui.formats.tfevents import protobuf_value

    return protobuf_value


def _text_of(tensor: bytes) -> str | None:
    """The strings of a text tensor, one per line, cleaned; None when it has none."""
    try:
        parts = [tensor[a:b] for n, _, a, b in fields(tensor, 0, len(tensor)) if n == _STRING_VAL]
    except MalformedError:
        return None
    whole = b"\n".join(parts)
    if not parts:
        return None
    return clean_text(whole[:MAX_TEXT]) + (" …" if len(whole) > MAX_TEXT else "")

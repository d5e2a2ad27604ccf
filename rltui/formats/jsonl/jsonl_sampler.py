"""Rows in windows of a large file of JSON lines: they begin behind a newline."""

from __future__ import annotations

from rltui.formats.base import Decoder, Options, RowSpan
from rltui.formats.jsonl.jsonl_decoder import JsonLinesDecoder


class JsonlSampler:
    """Made from the beginning of one file."""

    def __init__(self, head: bytes, options: Options) -> None:
        self.step_bytes = head.find(b"\n") + 1
        self._options = options

    def decoder(self) -> Decoder:
        return JsonLinesDecoder(self._options)

    def rows_in(self, window: bytes, *, first: bool, last: bool) -> RowSpan:
        """Whole lines; the decoder drops the one that the window cuts at its end."""
        begin = 0 if first else window.find(b"\n") + 1 or -1
        return RowSpan(begin, len(window), True)

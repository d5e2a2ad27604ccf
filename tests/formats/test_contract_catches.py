"""The contract is worth its time only if it fails for decoders that break it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from rltui.formats import Decoded, Decoder, Options
from rltui.formats.jsonl import JsonLines
from rltui.formats.jsonl.jsonl_decoder import JsonLinesDecoder
from tests.formats import contract
from tests.formats.sample import samples

SAMPLE = next(s for s in samples() if s.format == "jsonl" and not s.variant)


class BufferingDecoder(JsonLinesDecoder):
    """Waits for a newline however long it takes."""

    def __init__(self) -> None:
        super().__init__(Options())
        self._unfinished = b""

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        lines, newline, rest = (self._unfinished + data).rpartition(b"\n")
        self._unfinished = rest
        return super().feed(lines + newline, more=more)


class RememberingDecoder(JsonLinesDecoder):
    """Keeps every line that it could not read."""

    def __init__(self) -> None:
        super().__init__(Options())
        self._seen: set[bytes] = set()

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        self._seen.update(line for line in data.split(b"\n") if not line.endswith(b"}"))
        return super().feed(data, more=more)


class LeftoverDecoder(JsonLinesDecoder):
    """Leaves its unfinished line to the next decoder of the format."""

    leftover: ClassVar[list[bytes]] = []

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        before, self.leftover[:] = b"".join(self.leftover), []
        if not data.endswith(b"\n"):
            self.leftover.append(data.rpartition(b"\n")[2])
        return super().feed(before + data, more=more)


class LeftoverFormat(JsonLines):
    """Its decoders know of each other."""

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        return LeftoverDecoder(Options())


class ReusingDecoder(JsonLinesDecoder):
    """Returns the same settings object each time and goes on writing into it."""

    def __init__(self) -> None:
        super().__init__(Options())
        self._all: dict[str, object] = {}

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        found = super().feed(data, more=more)
        self._all[f"setting {len(self._all)}"] = 1
        return Decoded(found.items, hparams=self._all)


def test_a_decoder_that_buffers_an_endless_line() -> None:
    with pytest.raises(AssertionError):
        contract.check_endless_record(BufferingDecoder, SAMPLE, b"9")


def test_a_decoder_that_remembers_garbage() -> None:
    with pytest.raises(AssertionError):
        contract.check_endless_garbage(RememberingDecoder, SAMPLE)


def test_a_format_whose_decoders_share_a_line() -> None:
    with pytest.raises(AssertionError):
        contract.check_fresh_start(LeftoverFormat(), SAMPLE)


def test_a_decoder_that_changes_what_it_returned() -> None:
    with pytest.raises(AssertionError):
        contract.check_points_stay(ReusingDecoder, SAMPLE)


def test_the_decoder_without_these_faults_passes() -> None:
    form = JsonLines()
    make = contract.maker(form, SAMPLE)
    contract.check_endless_record(make, SAMPLE, b"9")
    contract.check_endless_garbage(make, SAMPLE)
    contract.check_fresh_start(form, SAMPLE)
    contract.check_points_stay(make, SAMPLE)

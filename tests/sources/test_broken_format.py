"""A format that fails on a file costs that file, not the others and not the program."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rltui import cli
from rltui.core.address import PIPE
from rltui.core.batch import Batch, Note
from rltui.core.level import Level
from rltui.formats import FORMATS
from rltui.formats.base import Decoded, Decoder, Format, Options, RowSearch, Sampler
from rltui.formats.jsonl import JsonLines
from rltui.sources import Reader
from rltui.sources.options import ReaderOptions

ROWS = '{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n'
GIVEN_UP = "cannot be read further: KeyError"


@dataclass
class _Fails:
    """A decoder that fails in one of its methods from a marked piece on."""

    inner: Decoder
    where: str
    open_line = torn = False

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        if self.where == "feed" and b"BROKEN" in data:
            raise KeyError("feed")
        return self.inner.feed(data, more=more)

    def finish(self) -> Decoded:
        if self.where == "finish":
            raise KeyError("finish")
        return self.inner.finish()

    @property
    def holds_row(self) -> bool:
        return self.inner.holds_row


@dataclass
class _Broken(Format):
    """JSONL under another suffix, that fails in one place."""

    where: str
    inner: Format = field(default_factory=JsonLines)
    asked: int = 0
    name = "broken"
    files = "*.broken"
    written_by = "a test"

    def __post_init__(self) -> None:
        self.anywhere = self.where == "row_search"

    def claims_name(self, name: str) -> bool:
        return name.endswith(".broken") or name == PIPE.name

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        self.asked += 1
        if self.where == "claims":
            raise KeyError("claims")
        return self.where != "row_search"

    def row_search(self) -> RowSearch:
        raise KeyError("row_search")

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        return _Fails(self.inner.decoder(options, path), self.where)

    def sampler(self) -> type[Sampler] | None:
        if self.where == "sampler":
            raise KeyError("sampler")
        return None


def reader_of(root: Path, form: Format) -> Reader:
    return Reader([root], formats=(form, *FORMATS))


def made(root: Path, broken: str = ROWS) -> Path:
    (root / "good").mkdir()
    (root / "good" / "metrics.jsonl").write_text(ROWS)
    (root / "bad").mkdir()
    (root / "bad" / "x.broken").write_text(broken)
    return root / "bad" / "x.broken"


def steps(batches: list[Batch], suffix: str) -> list[int]:
    mine = [b for b in batches if b.source.path.suffix == suffix]
    return [int(s) for b in mine for block in b.blocks for s in block.steps]


@pytest.mark.parametrize("where", ["claims", "row_search"])
def test_a_format_that_fails_to_judge_a_file(tmp_path: Path, where: str) -> None:
    path = made(tmp_path, "x" * 100_000)
    form = _Broken(where)
    reader = reader_of(tmp_path, form)
    assert steps(list(reader.read_all()), ".jsonl") == [1, 2]
    assert reader.state.notes == (Note(path, None, Level.WATCH, GIVEN_UP),)
    asked = form.asked
    reader.scan()
    assert form.asked == asked, "it is not asked again"
    assert reader.state.notes == (Note(path, None, Level.WATCH, GIVEN_UP),)


@pytest.mark.parametrize(
    ("where", "read", "position"), [("feed", [1, 2], len(ROWS)), ("finish", [1, 2], 2 * len(ROWS))]
)
def test_a_decoder_that_fails(tmp_path: Path, where: str, read: list[int], position: int) -> None:
    """What came before stays, what follows is not read, and the note is given once."""
    path = made(tmp_path, ROWS + "BROKEN".ljust(len(ROWS) - 1) + "\n")
    reader = Reader([tmp_path], formats=(_Broken(where), *FORMATS), budget_bytes=len(ROWS))
    batches = list(reader.read_all())
    assert steps(batches, ".jsonl") == [1, 2]
    assert steps(batches, ".broken") == read
    given_up = Note(path, position, Level.WATCH, GIVEN_UP)
    assert [n for b in batches for n in b.notes if n.message == GIVEN_UP] == [given_up]
    assert reader.progress()[0] == reader.progress()[1], "nothing more of it is expected"
    with path.open("a") as file:
        file.write(ROWS)
    assert not list(reader.read_all())


@pytest.mark.parametrize("where", ["claims", "feed"])
def test_a_format_that_fails_on_a_pipe(where: str) -> None:
    out, into = os.pipe()
    os.write(into, b"BROKEN\n" + ROWS.encode())
    os.close(into)
    reader = Reader([PIPE], ReaderOptions(pipe=out), formats=(_Broken(where),))
    (note,) = [n for b in reader.read_all() for n in b.notes]
    os.close(out)
    assert note == Note(PIPE, 0, Level.WATCH, GIVEN_UP)


def test_check_goes_on_with_the_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line, with a format that the program has."""
    made(tmp_path)
    (tmp_path / "bad" / "other.jsonl").write_text(ROWS)
    real = JsonLines.decoder

    def decoder(self: JsonLines, options: Options | None, path: Path | None = None) -> Decoder:
        inner = real(self, options, path)
        if path is not None and path.name == "other.jsonl":
            inner.feed = lambda data, more=False: {}[data]  # type: ignore[method-assign]
        return inner

    monkeypatch.setattr(JsonLines, "decoder", decoder)
    assert cli.main(["check", str(tmp_path)]) != 70
    shown = capsys.readouterr()
    assert "internal error" not in shown.out + shown.err
    assert "good" in shown.out

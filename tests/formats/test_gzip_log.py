"""Logs that were packed with gzip: the same points as unpacked, whatever the pieces."""

import gzip
import json
from pathlib import Path

import pytest

from rltui.formats import ALL_FORMATS
from rltui.formats import gzip_log as module
from rltui.formats.base import Decoded, Decoder
from rltui.sources.follow.reader import Reader
from rltui.sources.options import ReaderOptions
from rltui.store import Store
from tests.clock import ManualClock
from tests.formats.encode import event, header, simple

ROWS = 300
CSV = "step,loss,reward\n" + "".join(f"{n},{1 / n},{n}\n" for n in range(1, ROWS + 1))
JSONL = "".join(json.dumps({"step": n, "loss": 1 / n}) + "\n" for n in range(1, ROWS + 1))
CONSOLE = "".join(f"step {n}: loss={1 / n:.6f} reward={n}\n" for n in range(1, ROWS + 1))
EVENTS = header() + b"".join(
    event(n, 1.78e9 + n, simple(b"loss", 1 / n)) for n in range(1, ROWS + 1)
)
LOGS = {
    "progress.csv": CSV.encode(),
    "exp1.jsonl": JSONL.encode(),
    "train.log": CONSOLE.encode(),
    "events.out.tfevents.1700000000.host": EVENTS,
}


def read(place: Path, budget: int = 1 << 20) -> Store:
    options = ReaderOptions(ManualClock())
    store, reader = Store(), Reader([place], options, budget_bytes=budget)
    for batch in reader.read_all():
        store.apply(batch)
    return store


def points(store: Store) -> dict[str, dict[str, list[tuple[int, float]]]]:
    return {
        key.name: {
            t: list(zip(run.series(t).steps.tolist(), run.series(t).values.tolist(), strict=True))
            for t in run.tags
        }
        for key, run in store.runs.items()
    }


@pytest.mark.parametrize("budget", [64, 1 << 20])
@pytest.mark.parametrize("name", LOGS)
def test_a_packed_log_is_read_as_the_log(tmp_path: Path, name: str, budget: int) -> None:
    for folder, suffix, data in (("a", "", LOGS[name]), ("b", ".gz", gzip.compress(LOGS[name]))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / (name + suffix)).write_bytes(data)
    plain, packed = (points(read(tmp_path / f, budget)) for f in "ab")
    assert packed == plain
    assert next(len(p) for tags in packed.values() for p in tags.values()) == ROWS
    named = points(read(tmp_path / "b" / f"{name}.gz"))
    assert list(named.values()) == list(plain.values())


def decoder(name: str = "progress.csv.gz") -> Decoder:
    form = next(f for f in ALL_FORMATS if f.claims_name(name))
    return form.decoder(path=Path(name))


def rows(decoded: Decoded) -> int:
    return sum(len(b.steps) for b in decoded.items)  # type: ignore[union-attr]


@pytest.mark.parametrize("cut", [10, 500, -9])
def test_a_file_that_is_cut_gives_what_it_holds(cut: int) -> None:
    packed = gzip.compress(CSV.encode(), 0)[:cut]
    reader = decoder()
    decoded = reader.feed(packed).then(reader.finish())
    assert rows(decoded) <= ROWS
    assert (rows(decoded) == ROWS) is (cut == -9)
    assert not reader.holds_row


def test_what_is_unpacked_at_once_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", 100)
    monkeypatch.setattr(module, "_MOST", 1000)
    reader = decoder()
    found = [reader.feed(gzip.compress(CSV.encode()))]
    while reader.holds_row:
        found.append(reader.feed(b""))
    assert len(found) > 3
    assert sum(rows(d) for d in found) == ROWS


def test_a_packed_file_that_is_no_log_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "part.jsonl.gz").write_bytes(gzip.compress(b'{"prompt": "x"}\n' * 50))
    (tmp_path / "x.csv.gz").write_bytes(b"step,loss\n1,2\n")
    assert not read(tmp_path).runs


@pytest.mark.parametrize("piece", [1, 7, 100, 1 << 20])
def test_all_bytes_before_a_wrong_one_are_read(piece: int) -> None:
    packed = bytearray(gzip.compress(JSONL.encode(), 0, mtime=0))
    packed[-8] ^= 1  # the checksum at the end
    reader = decoder("exp1.jsonl.gz")
    parts = [packed[at : at + piece] for at in range(0, len(packed), piece)]
    found = [reader.feed(bytes(part), more=part is not parts[-1]) for part in parts]
    assert sum(rows(d) for d in found) == ROWS
    assert [n.message for d in found for n in d.notes] == ["not valid gzip from here on"]

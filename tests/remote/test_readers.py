"""Several readers as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rltui.core.batch import Batch, RunKey
from rltui.remote.opening import Wishes
from rltui.remote.readers import Part, Readers
from rltui.session.naming import Naming
from rltui.sources.follow.reader import Reader


def log(directory: Path, rows: int) -> None:
    directory.mkdir(parents=True)
    text = "".join(f'{{"step": {i}, "loss": {i}.5}}\n' for i in range(rows))
    (directory / "metrics.jsonl").write_text(text)


def readers(groups: Sequence[Sequence[tuple[int, Path]]], wishes: Wishes | None = None) -> Readers:
    """A reader for each group of numbered logdirs."""
    wishes, parts = wishes or Wishes(), []
    for group in groups:
        part = Part(tuple(n for n, _ in group), wishes.choose)
        part.open(Reader([path for _, path in group], choose=part.wishes(wishes).choose))
        parts.append(part)
    return Readers(parts)


def points(batches: Sequence[Batch]) -> dict[RunKey, int]:
    found: dict[RunKey, int] = {}
    for batch in batches:
        found[batch.run] = found.get(batch.run, 0) + sum(b.points for b in batch.blocks)
    return found


def test_keys_have_the_numbers_of_all_logdirs(tmp_path: Path) -> None:
    for name, rows in (("a", 2), ("b", 3), ("c", 4)):
        log(tmp_path / name / "run", rows)
    both = readers([[(0, tmp_path / "a"), (2, tmp_path / "c")], [(1, tmp_path / "b")]])
    both.scan()
    found = points(list(both.read_all()))
    assert found == {RunKey(0, "run"): 2, RunKey(1, "run"): 3, RunKey(2, "run"): 4}
    assert both.run_count == 3
    assert both.progress()[0] == both.progress()[1] > 0


def test_live_batches_of_all_parts_arrive(tmp_path: Path) -> None:
    log(tmp_path / "a" / "run", 2)
    log(tmp_path / "b" / "run", 3)
    both = readers([[(0, tmp_path / "a")], [(1, tmp_path / "b")]])
    calls: list[int] = []
    both.on_batch = lambda: calls.append(1)
    both.scan()
    both.start()
    found: list[Batch] = []
    try:
        while sum(points(found).values()) < 5:
            assert both.wait(20)
            found += both.drain(1)
    finally:
        both.stop()
    assert points(found) == {RunKey(0, "run"): 2, RunKey(1, "run"): 3}
    assert calls
    assert not both.wait(0)
    assert not both.ended
    assert not both.notes
    assert not both.unclaimed


class LateReader(Reader):
    """Its first batch comes right after somebody has asked for the second time."""

    asked = 0

    def wait(self, timeout: float) -> bool:
        self.asked += 1
        if self.asked == 2 and self.on_batch is not None:
            self.on_batch()
        return self.asked > 2


def test_a_call_for_a_batch_that_was_drained_ends_no_wait(tmp_path: Path) -> None:
    part = Part((0,), None)
    part.open(LateReader([tmp_path]))
    one = Readers([part])
    assert part.reader.on_batch is not None
    part.reader.on_batch()  # for a batch that somebody has drained meanwhile
    assert one.wait(20)


def test_runs_are_chosen_among_all(tmp_path: Path) -> None:
    for name in ("a", "b"):
        log(tmp_path / name / "run", 2)
        log(tmp_path / name / "other", 2)
    naming = Naming(("a", "b"), "b/run")
    both = readers([[(0, tmp_path / "a")], [(1, tmp_path / "b")]], Wishes(choose=naming.choose))
    both.scan()
    assert set(points(list(both.read_all()))) == {RunKey(1, "run")}


def test_a_run_is_read_again_by_its_part(tmp_path: Path) -> None:
    log(tmp_path / "a" / "run", 2)
    log(tmp_path / "b" / "run", 3)
    both = readers([[(0, tmp_path / "a")], [(1, tmp_path / "b")]])
    both.scan()
    first = next(b for b in both.read_all() if b.run == RunKey(1, "run"))
    again = both.read_again(first.run, {first.source.path: first.source}, [0])
    assert again is not None
    assert points(list(again)) == {RunKey(1, "run"): 3}

"""Settings and the matrix of a sweep on the page that compares runs."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rltui.facts.comparison import Comparison, Crosshair
from rltui.facts.groups import Sweep, setting_words
from rltui.pages.comparison.tables import Matrix
from rltui.sources.side_files.settings_files import NO_FACTS
from tests.builders import a_batch, a_block, a_source
from tests.fakes import a_session
from tests.tui.hand import open_app, read_at_once
from tests.tui.test_writing import write

REWARD = "critic/rewards/mean"


def a_run(name: str, value: float, tags: dict[str, Any] | None = None, **hparams: object) -> Any:
    block = a_block({REWARD: [value] * 10, **(tags or {})})
    return a_batch(block, run=name, source=a_source(f"{name}/log"), hparams=hparams)


def a_matrix(*batches: Any, by: str, cross: Crosshair | None = None) -> list[list[str]]:
    comparison = Comparison(a_session(*batches).runs(), (), by)
    comparison.read_at(cross)
    lines = Matrix(comparison, comparison.grouping, comparison.columns[0]).text().splitlines()
    return [line.split("\t") for line in lines]


def a_sweep(seeds: int) -> list[Any]:
    grid = product((0, 1), (0.1, 0.2), range(seeds))
    runs = ((f"{n}_{kl}_{s}", n / 2 + s / 100, (1e-6, 1e-5)[n], kl) for n, kl, s in grid)
    return [a_run(name, value, lr=lr, kl=kl) for name, value, lr, kl in runs]


def test_cells_have_mean_spread_and_number_and_are_tested_against_the_best() -> None:
    assert a_matrix(*a_sweep(4), by="lr × kl") == [
        ["lr × kl", "0.1", "0.2"],
        ["1e-6", "0.0150 ± 0.0129 (4) ≠", "0.0150 ± 0.0129 (4) ≠"],
        ["1e-5", "0.515 ± 0.0129 (4) *", "0.515 ± 0.0129 (4)"],
        ["mean ± sd (runs), * best, ≠ differs from it (p ≤ 0.05, by permutation)"],
    ]
    *rows, (note,) = a_matrix(*a_sweep(1), by="lr")
    assert rows == [["lr", "reward"], ["1e-6", "0 ± 0 (2)"], ["1e-5", "0.500 ± 0 (2) *"]]
    assert note.endswith("; runs of one cell differ in kl")


def test_at_a_crosshair_cells_hold_what_the_runs_have_there() -> None:
    runs = [a_run(n, 1, {REWARD: [x] * 5 + [0.0] * 5}, lr=x) for n, x in (("a", 1), ("b", 2))]
    rows = a_matrix(*runs, by="lr", cross=Crosshair(2, 2))
    assert [row[1] for row in rows[1:3]] == ["1.00 (1)", "2.00 (1) *"]


def test_a_logged_rate_is_a_setting_that_comes_first_unless_another_tells_it() -> None:
    runs = [a_run(x, 1, {"actor/lr": [float(x), 0] * 5}, opt=f"o{x}") for x in ("1e-6", "1e-15")]
    session = a_session(*runs)
    sweep = Sweep(session.runs())
    assert [*sweep.settings] == [g.title for g in sweep.tables] == ["learning rate", "opt"]
    assert setting_words(session.runs()[0], "learning rate", 10) == "0"
    told = [a_run(str(x), 1, {"actor/lr": [0.95 * x, x / 2] * 5}, lr=x) for x in (1e-6, 1e-5)]
    told.append(a_run("died in the warm-up", 1, {"actor/lr": [1e-7] * 10}, lr=1e-5))
    assert [*Sweep(a_session(*told).runs()).settings] == ["lr"]


async def test_without_room_a_matrix_keeps_its_signs_and_its_best_cell() -> None:
    grid = product(range(9), range(9))
    runs = [a_run(f"{n}_{kl}", n + kl / 10, **{"a.lr": n, "a.kl": kl}) for n, kl in grid]
    async with open_app(*runs, size=(80, 24)) as hand:
        await hand.press("C", "v")
        assert hand.lines[1].strip().endswith(" 6 of 9 columns, 6 of 9 rows")
        assert hand.lines[2].split() == ["lr", *"345678"]
        assert "8.80 (1) *" in hand.text


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (40, 16)])
async def test_one_key_leads_through_what_stands_above_the_runs(size: tuple[int, int]) -> None:
    async with open_app(*a_sweep(2), size=size) as hand:
        for keys, title, rows in (
            ("Cv", "reward by lr × kl", 4),
            ("x", "reward by lr ", 2),
            ("v", "Settings that differ 2", 8),
            ("v", "reward ", 8),
            ("Bv", "reward by name", 4),
        ):
            await hand.press(*keys)
            assert hand.lines[1].strip().startswith(title)
            assert len(hand.ids) == rows, "the cells are the groups of the table"
            assert title != "reward by lr " or size[0] < 80 or hand.lines[3].count("▲") == 2


async def test_the_table_is_written_and_near_cells_have_one_colour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_app(*a_sweep(2), size=(80, 24)) as hand:
        await hand.press("C", "v")
        cells = [[s.style.color.name for s in hand.strips[n] if "±" in s.text] for n in (3, 4)]
        assert [len({*row}) for row in (*cells, cells[0] + cells[1])] == [1, 1, 2]
        for name in ("a.md", "a.csv", "a.tex"):
            await write(hand, name)
    assert "| 1e-5 | 0.505 ± 0.0071 (2) \\* |" in (tmp_path / "a.md").read_text()
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "lr × kl,0.1,0.2"
    assert "1e-6 & 0.0050 $\\pm$ 0.0071 (2) & " in (tmp_path / "a.tex").read_text()


@pytest.mark.parametrize(
    ("names", "keys", "read"),
    [("ab", "CH", True), ("ab", "CH", False), (["a_s1", "a_s2"], "CBv", True)],
)
async def test_files_beside_the_logs_are_read_for_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: Sequence[str], keys: str, *, read: bool
) -> None:
    read_at_once(monkeypatch)
    if not read:
        monkeypatch.setattr("rltui.tui.screen.start_thread", lambda _work: None)
    batches = [a_run(name, 1) for name in names]
    for name, batch in zip(names, batches, strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "args.json").write_text(f'{{"beta": "{name[:1]}"}}')
        object.__setattr__(batch, "run_path", tmp_path / name)
    async with open_app(*batches, logdirs=(tmp_path,), size=(80, 14)) as hand:
        for run in hand.app.session.runs():
            run.facts = NO_FACTS
        await hand.press(*keys)
        assert ("not read yet: a, b" in hand.text) != read
        found = [x.split() for x in hand.lines]
        assert (["beta", "a", "b"] in found) == (read and keys == "CH")
        assert ("reward by name" in hand.text) == (keys == "CBv"), "no setting differs"

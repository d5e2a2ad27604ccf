"""Columns of a table of metrics: names get what other columns leave blank."""

from __future__ import annotations

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.metrics import TagRow, tab_sections
from rltui.pages.run.metric_table import (
    columns_for,
    columns_of,
    row_entries,
    row_names,
    short_titles,
)
from rltui.session import RunView
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_tags

VALUES = [
    f"val-aux/math_dapo/reward/{stat}" for stat in ("best@2/mean", "worst@4/std", "maj@2/mean")
]
VALUES += [f"val-aux/gsm8k/reward/{stat}" for stat in ("best@2/mean", "worst@4/std", "maj@2/mean")]


def validation() -> tuple[RunView, list[TagRow]]:
    tags = grpo_tags(20) | {tag: [0.1 * x for x in range(20)] for tag in VALUES}
    (run,) = a_session(a_batch(steps(1, tags))).runs()
    return run, [r for s in tab_sections(run, "validation") for r in s.rows]


def test_a_title_does_without_the_unit_that_stands_beside_it() -> None:
    titles = ["reward best@2, std", "reward maj@2", "reward", "tokens"]
    units = ["best@2", "maj@2", "mean@4", "tok"]
    assert short_titles(titles, units) == ("reward, std", "reward", "reward", "tokens")
    assert short_titles(["score x", "score"], ["x", "x"]) == ("score x", "score")


def test_names_take_what_the_other_columns_leave_blank() -> None:
    _, rows = validation()
    usual, columns = columns_for(92), columns_of(rows, 92, View())
    assert columns.width == usual.width == 92
    assert columns.name > usual.name
    assert columns.spark >= 16
    names = row_names(rows, columns, View())
    assert not [n for n in names if "…" in n]
    assert len({(n, r.info.unit) for n, r in zip(names, rows, strict=True)}) == len(rows)


def test_a_marked_row_keeps_a_blank_before_its_name() -> None:
    run, rows = validation()
    columns, view = columns_for(67), View(shared=(rows[0].tag,))
    marked, plain_row = (
        plain(row_entries(run, rows, columns, v, 0)[0].draw(False)[0]) for v in (view, View())
    )
    assert marked[1:3] == "1 "
    assert marked[0] == plain_row[0]
    value = columns.start("value")
    assert marked[value:] == plain_row[value:]

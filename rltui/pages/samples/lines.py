"""Texts and samples of a run: a list at one step, and the sample at the cursor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rltui.core.text import cell_width, clean, words_match
from rltui.draw.line import (
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Entry,
    Line,
    column,
    fit_line,
    fixed,
    line_width,
    with_margin,
)
from rltui.draw.prose import hard_wrap, paragraph
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.pages.findings.lines import heading
from rltui.sources.side_files.sample_files import Sample, SampleRow

#: The orders of the list, and what the footer calls them.
ORDERS = {
    "worst": "worst reward first",
    "best": "best reward first",
    "longest": "longest first",
    "shortest": "shortest first",
    "logged": "as logged",
}
_REWARD, _CHARS = 11, 8
#: Larger figures are written with an exponent.
_WHOLE = 1e15
#: Cells of a pane beside which the sample is shown; below that it is shown underneath.
SIDE_BY_SIDE = 100

SampleId = tuple[int, int]
"""Place and item of a row."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleList:
    """What the screen shows above the sample."""

    kinds: Sequence[str] = ()
    """Names of the kinds of samples that the run has."""
    kind: int = 0
    step: int | None = None
    steps: Sequence[int] = ()
    """The steps that have samples."""
    rows: Sequence[SampleRow] = ()
    """All of the step."""
    order: str = "worst"
    text: str = ""
    """The filter."""
    note: str = ""
    """Why there is none, or not all."""

    def shown(self) -> list[SampleRow]:
        """The rows that pass the filter, in order."""
        rows = [r for r in self.rows if words_match(r.preview, self.text)]
        if self.order in ("worst", "best"):
            sign = 1 if self.order == "worst" else -1
            return sorted(rows, key=lambda r: (math.isnan(r.reward), sign * r.reward))
        if self.order in ("longest", "shortest"):
            sign = 1 if self.order == "shortest" else -1
            return sorted(rows, key=lambda r: sign * r.length)
        return rows


def row_id(row: SampleRow) -> SampleId:
    return row.place, row.item


def samples_head(samples: SampleList, view: View, width: int) -> list[Line]:
    """Which kind, which step, how the rewards are spread; then the heads of the columns."""
    plain, ellipsis = view.glyphs.text, view.glyphs.ellipsis
    line: Line = [("Samples ", TITLE)]
    if samples.kinds:
        line.append((plain(samples.kinds[samples.kind]), STRONG))
        if len(samples.kinds) > 1:
            line.append((plain(f"  kind {samples.kind + 1} of {len(samples.kinds)}"), MUTED))
    if samples.step is not None:
        line += [("   step ", MUTED), (numbers.step(samples.step), STRONG)]
        at = list(samples.steps).index(samples.step) + 1 if samples.step in samples.steps else 0
        line.append((f"  {at} of {len(samples.steps)}" if len(samples.steps) > 1 else "", MUTED))
    right = plain(_spread(samples.rows))
    room = width - line_width(line) - cell_width(right)
    if right and room > 1:
        line += [(" " * room, TEXT), (right, MUTED)]

    return [fit_line(line, width, ellipsis=ellipsis), _columns_line(samples, view, width)]


def _spread(rows: Sequence[SampleRow]) -> str:
    """ "mean reward 0.27, from 0 to 1"; empty without rewards."""
    rewards = [r.reward for r in rows if math.isfinite(r.reward)]
    if not rewards:
        return ""
    mean = numbers.value(sum(r / len(rewards) for r in rewards))
    return f"mean reward {mean}, {numbers.value(min(rewards))} to {numbers.value(max(rewards))}"


def _columns_line(samples: SampleList, view: View, width: int) -> Line:
    line: Line = [("reward".rjust(7).ljust(_REWARD), MUTED)] if _has_rewards(samples) else []
    line += [("chars".rjust(_CHARS - 2) + "  ", MUTED), ("text ", MUTED)]
    count = f" {len(samples.rows)}" if samples.rows else ""
    rule = view.glyphs.rule * max(0, width - line_width(line) - len(count))
    return fit_line([*line, (rule, RULE), (count, MUTED)], width)


def _has_rewards(samples: SampleList) -> bool:
    return any(not math.isnan(r.reward) for r in samples.rows)


def sample_entries(
    samples: SampleList, view: View, width: int, margin: int
) -> list[Entry[SampleId]]:
    """One line for each sample, behind a margin; or why there is none."""
    cells, shown, rewarded = width - margin, samples.shown(), _has_rewards(samples)

    def entry(row: SampleRow) -> Entry[SampleId]:
        def draw(cursor: bool) -> list[Line]:
            line: Line = []
            if rewarded:
                line.append((numbers.aligned(row.reward).ljust(_REWARD), STRONG))
            line.append(column(numbers.exact(row.length), _CHARS - 1, MUTED, right=True))
            look = STRONG if cursor else TEXT
            line += [(" ", TEXT), (view.glyphs.text(row.preview), look)]
            line = fit_line(line, cells, ellipsis=view.glyphs.ellipsis)
            return [with_margin(line, cells, margin, view, cursor=cursor)]

        return Entry(row_id(row), draw)

    entries = [entry(row) for row in shown]
    hidden = len(samples.rows) - len(shown)
    words = [f"{hidden} hidden by the filter"] if hidden else []
    for text in [*words, *([samples.note] if samples.note else [])]:
        block = paragraph(view.glyphs.text(text), max(10, cells - 1), MUTED)
        entries.append(fixed(*[[(" " * margin, TEXT), *x] for x in block]))
    return entries


def no_samples_words(root: Path, trouble: str = "") -> str:
    """What to do to get samples below a directory; ``trouble``: why it could not be listed."""
    if trouble:
        return f"No texts in the logs, and the files beside them {trouble}."
    return (
        f"No texts in the logs and no samples below {clean(str(root))}. rltui reads the texts of "
        "TensorBoard and W&B, TRL's completions (log_completions=True), verl's "
        "trainer.rollout_data_dir, the rollouts of prime-rl, completions.jsonl of ms-swift, and "
        "tables of W&B."
    )


def sample_lines(sample: Sample, view: View, width: int) -> list[Line]:
    """A whole sample: its figures, then its texts with their own line ends."""
    lines = _figures(sample, view, width)
    for name, text in sample.texts:
        lines += [[]] if lines else []
        lines.append(
            heading(view.glyphs.text(name), width, view, f"{numbers.exact(len(text))} chars")
        )
        lines += [[(x, TEXT)] for x in hard_wrap(view.glyphs.text(text), width)]
    return lines


def _figures(sample: Sample, view: View, width: int) -> list[Line]:
    """Names and values, as many on a line as fit."""
    lines: list[Line] = []
    for name, value in sample.figures:
        pair: Line = [
            (f"{view.glyphs.text(name)} ", MUTED),
            (_figure(value), STRONG),
        ]
        if not lines or line_width(lines[-1]) + 3 + line_width(pair) > width:
            lines.append(pair)
        else:
            lines[-1] = [*lines[-1], ("   ", TEXT), *pair]
    return lines


def _figure(value: float) -> str:
    whole = value.is_integer() and abs(value) < _WHOLE
    return numbers.exact(int(value)) if whole else numbers.value(value)


def sample_text(sample: Sample) -> str:
    """A sample for the clipboard."""
    figures = [f"{name}: {_figure(value)}" for name, value in sample.figures]
    return "\n\n".join(["\n".join(figures), *(f"{n}:\n{t}" for n, t in sample.texts)]).strip()

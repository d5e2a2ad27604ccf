"""The state of all runs as Markdown, for an issue or a chat."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from io import StringIO

from rltui.core.errors import UsageError
from rltui.core.fault import NOT_SHOWN
from rltui.core.text import cell_width, clean, pad, spaced
from rltui.core.yaml_document import nearest
from rltui.draw.glyph import glyph_set
from rltui.facts import numbers, sentences
from rltui.facts.comparison import (
    Comparison,
    MetricColumn,
    RunRow,
    ends_words,
    group_words,
    verdict_words,
    window_words,
)
from rltui.facts.groups import Grouping, Sweep
from rltui.facts.metrics import Section, overview_sections
from rltui.output.text_report import run_lines
from rltui.session import JudgedRun, Session
from rltui.session.naming import called

_GLYPHS = glyph_set("braille")
#: What has a meaning in Markdown or in the HTML inside of it.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@!&])")
#: Words that sites make links of, escaped or not: URLs, addresses, @names, #numbers.
_LINKED = re.compile(r"([^\s|]*(?:://|www\.|@|#\d)[^\s|]*)", re.IGNORECASE)
_BACKTICKS = re.compile("`+")
#: What Slack takes for a mention or a link begins with a bracket: ``<!channel>``, ``<@U1>``,
#: ``<https://...|text>``. Mattermost, Discord and Rocket.Chat take ``@all``, ``@everyone``.
_BRACKET = re.compile(r"<(?=[!@#A-Za-z])")
_AT = re.compile(r"@(?=\w)")
#: Characters that LaTeX writes in another way.
_TEX = str.maketrans(
    {
        **{special: f"\\{special}" for special in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "≠": r"$\neq$",
        "×": r"$\times$",
    }
)
#: Groupings that an error names.
_MOST_NAMED = 8
#: Metrics of the table: the headline and the first vital signs.
_MOST_METRICS = 6


def snapshot_markdown(session: Session, only: JudgedRun | None = None) -> str:
    """Every run, or only one, with its verdict and its vital signs."""
    parts = []
    for run in session.runs() if only is None else [only]:
        head, *lines = run_lines(run)
        parts.append(f"## {escaped(head)}")
        if lines:
            parts.append("\n".join(map(_item, lines)))
        with run.isolate_faults(NOT_SHOWN):
            sections = sorted(overview_sections(run), key=lambda s: -s.level)
            parts += [_table(section) for section in sections]
        parts += [_item(f"note: {fault.text}") for fault in run.faults.values()]
    return "\n\n".join(parts) + "\n"


def _item(line: str) -> str:
    """A line of the text report as an item of a list, as deep as it is indented."""
    text = line.lstrip()
    depth = max(0, (len(line) - len(text)) // 2 - 1)
    return f"{'  ' * depth}- {escaped(text)}"


def _table(section: Section) -> str:
    lines = [
        f"**{escaped(section.title)}** {_GLYPHS.badge(section.level)}",
        "",
        "| | metric | value | healthy | tag |",
        "| --- | --- | ---: | --- | --- |",
    ]
    for row in sorted(section.rows, key=lambda r: -r.level):
        value = f"{numbers.value(row.value)} {row.info.unit}".strip()
        cells = (row.title, value, sentences.healthy(row.judgement, row.value), row.tag)
        lines.append(f"| {_GLYPHS.badge(row.level)} | {' | '.join(map(escaped, cells))} |")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """``text`` as Markdown that shows exactly it: nothing from a log becomes a link, a heading or
    HTML."""

    def code(word: str) -> str:
        """``word`` as code, in which nothing is a link."""
        fence = "`" * (max(map(len, _BACKTICKS.findall(word)), default=0) + 1)
        inner = f" {word} " if word[0] == "`" or word[-1] == "`" else word
        return f"{fence}{inner}{fence}"

    parts = _LINKED.split(clean(text))
    return "".join(code(x) if n % 2 else _SPECIAL.sub(r"\\\1", x) for n, x in enumerate(parts))


def without_mentions(text: str) -> str:
    """A text with look-alikes in place of the characters that begin a mention."""
    return _AT.sub("\uff20", _BRACKET.sub("\u2039", text))


def compared(runs: Sequence[JudgedRun], names: Sequence[str]) -> list[JudgedRun]:
    """The runs that ``names`` (or globs) refer to, in that order. Raises UsageError for a name
    without a run."""
    found: dict[JudgedRun, None] = {}
    known = {run: run.names for run in runs}
    for name in names:
        matching = called(name, known)
        if not matching:
            raise UsageError(f"no run {name!r}", hint=nearest(name, [r.name for r in runs]))
        found.update(dict.fromkeys(matching))
    return list(found)


def grouping_named(runs: Sequence[JudgedRun], name: str) -> Grouping:
    """The grouping ``name``: ``name``, or a hyperparameter. Raises UsageError when the runs cannot
    be grouped by it."""
    found = Sweep(runs).groupings
    for grouping in found:
        if grouping.title == name:
            return grouping
    known = ", ".join(g.title for g in found[:_MOST_NAMED])
    if len(found) > _MOST_NAMED:
        known += f" and {len(found) - _MOST_NAMED} more settings"
    known = known or "nothing: most runs share no name or setting"
    hint = nearest(name, [g.title for g in found])
    raise UsageError(f"cannot group by {name!r}; the runs can be grouped by {known}", hint=hint)


def comparison_text(
    runs: Sequence[JudgedRun], by: str, reference: JudgedRun | None, ending: str = ".txt"
) -> str:
    """Comparison of runs as a table, and below it whether the groups differ; see
    :func:`written`."""
    if by:
        grouping_named(runs, by)
    comparison = Comparison(runs, (), by, None, reference)
    metrics = comparison.columns[:_MOST_METRICS]
    ordered = comparison.ordered("metric", next(iter(metrics), None))
    return written(comparison_table(comparison, ordered, metrics), ending)


def written(text: str, ending: str) -> str:
    """A table and sentences: lines of cells parted by tabs, of which the first are heads, and other
    lines. In columns, as Markdown, LaTeX, or CSV, which has no place for sentences; by the ending
    of a file."""
    table = [line.split("\t") for line in text.splitlines() if "\t" in line]
    notes = [line for line in text.splitlines() if line and "\t" not in line]
    if len(table) < 2:
        raise UsageError("no table here to write")
    if ending == ".txt":
        widths = [max(map(cell_width, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(map(pad, row, widths)).rstrip() for row in table]
        return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"
    if ending == ".csv":
        out = StringIO()
        csv.writer(out, lineterminator="\n").writerows(table)
        return out.getvalue()
    if ending == ".tex":
        rows = [f"{' & '.join(cell.translate(_TEX) for cell in row)} \\\\{{}}" for row in table]
        begin = f"\\begin{{tabular}}{{{'l' * len(table[0])}}}"
        rows = [begin, "\\hline", rows[0], "\\hline", *rows[1:], "\\hline", "\\end{tabular}"]
        return "\n".join([*rows, *(f"% {n}" for n in notes)]) + "\n"
    lines = [f"| {' | '.join(map(escaped, row))} |" for row in table]
    lines.insert(1, f"| {' | '.join(['---'] * len(table[0]))} |")
    return "\n".join([*lines, *(x for n in notes for x in ("", escaped(n)))]) + "\n"


def comparison_table(
    comparison: Comparison, rows: Sequence[RunRow], metrics: Sequence[MetricColumn]
) -> str:
    """A table for :func:`written`."""
    by = comparison.grouping is not None
    heads = ["group" if by else "run", "runs" if by else "step", "verdict"]
    table = [heads + [m.title for m in metrics]]

    for row in rows:
        last = row.runs[0].progress.last_step if row.runs[0].progress else None
        count = str(len(row.runs)) if by else numbers.step(last)
        cells = [row.name, count, verdict_words(row)]
        table.append(cells + [_cell(comparison, row, m) for m in metrics])

    notes = [group_words(comparison, rows, m, r) for m in metrics[:1] for r in rows]
    notes = list(dict.fromkeys(n for n in [*notes, ends_words(comparison)] if n))
    if metrics:
        window = window_words(comparison.cross)
        notes.append(window + (", ± standard deviation over runs" if by else ""))
    if any(comparison.best(m) is not None for m in metrics):
        notes.append("* the best")

    return "\n".join([*map("\t".join, table), *notes])


def _cell(comparison: Comparison, row: RunRow, metric: MetricColumn) -> str:
    """The value of a metric in a row, or the mean and the spread of its runs."""
    value = comparison.value(row, metric)
    text = spaced(numbers.value(value), comparison.spread_words(row, metric), by=" ")
    return f"{text} *" if value is not None and value == comparison.best(metric) else text

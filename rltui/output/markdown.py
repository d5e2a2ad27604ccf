"""The state of all runs as Markdown, for an issue or a chat."""

from __future__ import annotations

import re

from rltui.core.fault import NOT_SHOWN
from rltui.core.text import clean
from rltui.draw.glyph import glyph_set
from rltui.facts import numbers, sentences
from rltui.facts.metrics import Row, Section, overview_sections
from rltui.output.text_report import run_lines
from rltui.session import RunView, Session

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


def snapshot_markdown(session: Session) -> str:
    """Every run with its verdict and its vital signs."""
    parts = [_run(run) for run in session.runs()]
    return "\n\n".join(parts) + "\n"


def _run(run: RunView) -> str:
    head, *lines = run_lines(run)
    parts = [f"## {escaped(head)}"]
    if lines:
        parts.append("\n".join(_item(line) for line in lines))
    with run.walled(NOT_SHOWN):
        sections = sorted(overview_sections(run), key=lambda s: -s.level)
        parts += [_table(section) for section in sections]
    parts += [_item(f"note: {fault.text}") for fault in run.faults.values()]
    return "\n\n".join(parts)


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
    return "\n".join([*lines, *(_row(row) for row in sorted(section.rows, key=lambda r: -r.level))])


def _row(row: Row) -> str:
    value = f"{numbers.value(row.value)} {row.info.unit}".strip()
    cells = (row.title, value, sentences.healthy(row.judgement), row.tag)
    return f"| {_GLYPHS.badge(row.level)} | {' | '.join(escaped(c) for c in cells)} |"


def escaped(text: str) -> str:
    """``text`` as Markdown that shows exactly it: nothing from a log becomes a link, a heading or
    HTML."""
    parts = _LINKED.split(clean(text))
    return "".join(
        _code(part) if index % 2 else _SPECIAL.sub(r"\\\1", part)
        for index, part in enumerate(parts)
    )


def _code(word: str) -> str:
    """``word`` as code, in which nothing is a link."""
    fence = "`" * (max(map(len, _BACKTICKS.findall(word)), default=0) + 1)
    inner = f" {word} " if word[0] == "`" or word[-1] == "`" else word
    return f"{fence}{inner}{fence}"


def without_mentions(text: str) -> str:
    """A text with look-alikes in place of the characters that begin a mention."""
    return _AT.sub("\uff20", _BRACKET.sub("\u2039", text))

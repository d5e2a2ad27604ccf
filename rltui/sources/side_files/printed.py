"""Samples that a trainer prints into its console log: TRL's tables, verl's validation.

A table of TRL (``print_prompt_completions_sample``) has its step in the title, and is one record,
whose columns are lists. verl prints ``[prompt]``, ``[response]``, ``[ground_truth]`` and
``[score]``, and below them the row of their step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from rltui.formats.console.console_line import plain

#: A column of a table, and the second part of a block: a log with neither prints no samples.
PRINTED = re.compile("┃ Completion |\\[response\\]".encode())
_PART = re.compile(r"(?:\[[^\]\s]{1,40}\])?\[(prompt|response|ground_truth|score)\] ?(.*)")
_STEP = re.compile(r"(?:^|─ )[Ss]tep[: ]{1,2}(\d{1,12})\b")
#: The row of a step, behind what verl prints of it.
_ROW = re.compile(r"step:\d+ - ")
#: Characters of a text: what goes on is other output.
_LONGEST = 200_000

Printed = tuple[int, dict[str, Any]]


def printed(lines: Iterable[tuple[int, bytes]]) -> Iterator[Printed]:
    """(offset, record) of each sample in lines with their offsets; some records have no text."""
    waiting: list[Printed] = []
    """The newest table, or blocks above the row of their step."""
    heads = list[str]()
    cells = list[str]()
    part = ""
    for at, raw in lines:
        line = plain(raw).decode("utf-8", "replace")
        record = waiting[-1][1] if waiting else {}  # what began before is left out
        if named := _PART.match(line):
            part, text = named.groups()
            if part == "prompt":
                record = {}
                waiting.append((at, record))
            record[part] = text
        elif part in record and part != "score" and not _ROW.match(line):
            record[part] += f"\n{line}"
            part = part if len(record[part]) < _LONGEST else ""
        elif found := _STEP.search(line):
            step = {"step": int(found[1])}
            yield from ((place, step | told) for place, told in waiting)
            waiting = [(at, step)]
            heads = []
        elif "┃" in line:
            heads = _below(heads, line.lower().split("┃")[1:-1])
        elif "├" in line or "└" in line:
            for head, cell in zip(heads, cells, strict=False):
                if isinstance(column := record.setdefault(head, []), list):
                    column.append(cell)
            cells = []
        elif heads and "│" in line:
            sides = line.split("│")
            frame = (len(sides) - len(heads)) // 2  # two more sides where a box is around it
            cells = _below(cells, sides[frame:-frame])
    yield from waiting


def _below(cells: list[str], more: list[str]) -> list[str]:
    """Cells with those of the next line below them."""
    pairs = zip_longest(cells, map(str.strip, more), fillvalue="")
    return ["\n".join(filter(None, pair)) for pair in pairs]

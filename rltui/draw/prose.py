"""Running text as lines: wrapped words, facts in a row, notes about files."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count, islice
from typing import TYPE_CHECKING

from rltui.core.level import Level
from rltui.core.text import (
    Names,
    cell_width,
    clean,
    counted,
    fit,
    fit_middle,
    measure_for,
    pad,
    shared_start,
)
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    MUTED,
    STRONG,
    TEXT,
    Block,
    Line,
    Span,
    Style,
    Token,
    badge_span,
    line_width,
    longest,
    style,
    with_end,
)
from rltui.facts import numbers

if TYPE_CHECKING:
    from rltui.core.batch import Note

#: Notes that a screen shows; the others are counted.
_MOST = 5
#: Shares of the cells given to the end of a name, in the order in which they are tried.
_TAILS = (2 / 3, 1 / 3, 0.95, 0.0)
#: Characters between the words of a name.
_SEPARATORS = "/-_.: "
#: Folders that are cut to what tells them apart, and the cells that one needs at least.
_MOST_FOLDERS = 64
_FOLDER_CELLS = 4
#: Parts that are tried for all names together, and at least for each of many, before a number
#: takes their place: the time stays linear in the names.
_MOST_PARTS = 5000
_FEWEST_PARTS = 8
#: Blanks at which a line may end: not between a number and its unit, or a sign and its number.
_BREAK = re.compile(
    r"\s+(?!(?<=\d\s)(?:%|×|→|[kMGT]?B|m?s|min|h|d|nats|tok|W|°C)(?![\w-]))(?!(?<=[×→≤≥<>]\s)[\d.])"
)


def wrap(text: str, width: int, limit: int | None = None) -> list[str]:
    """``text`` in lines of at most ``width`` cells, at most ``limit`` lines (then an ellipsis)."""
    if width < 1 or (limit is not None and limit < 1):
        return []
    lines: list[str] = []
    current = ""
    measure = measure_for(text)
    parts = _BREAK.split(text.strip())
    for word in (x for part in parts for x in ([part] if measure(part) <= width else part.split())):
        candidate = f"{current} {word}" if current else word
        if measure(candidate) <= width:
            current = candidate
            continue
        if current:
            lines.append(current)
        current = word if measure(word) <= width else fit(word, width)
    if current:
        lines.append(current)
    if limit is not None and len(lines) > limit:
        kept = lines[:limit]
        kept[-1] = fit(f"{kept[-1]} …", width)
        if not kept[-1].endswith("…"):
            kept[-1] = fit(kept[-1], width - 1, ellipsis="") + "…"
        return kept

    return lines


def hard_wrap(text: str, width: int, limit: int | None = None) -> list[str]:
    """``text`` with its own line ends and blanks in lines of at most ``width`` cells: broken at a
    blank in the second half of a line, else anywhere; at most ``limit`` lines."""
    lines: list[str] = []
    for line in text.split("\n") if width > 0 else ():
        while cell_width(line) > width and (limit is None or len(lines) <= limit):
            size = len(fit(line, width, ellipsis="")) or 1
            blank = line.rfind(" ", size // 2, size + 1)
            end = blank if blank > 0 else size
            lines.append(line[:end])
            line = line[end:].removeprefix(" ")
        lines.append(line)
        if limit is not None and len(lines) > limit:
            last = fit(lines[limit - 1], width - 1, ellipsis="")
            return [*lines[: limit - 1], f"{last}…"]
    return lines


def paragraph(
    text: str,
    width: int,
    look: Style = TEXT,
    *,
    indent: int = 0,
    limit: int | None = None,
) -> Block:
    """Wrapped text as lines."""
    margin: Line = [(" " * indent, TEXT)] if indent else []
    lines = wrap(text, width - indent, limit)
    return [[*margin, (line, look)] for line in lines]


def fact_table(
    facts: Iterable[tuple[str, str]], width: int, names: int, look: Style = TEXT
) -> Block:
    """(name, text) pairs below each other, names in ``names`` cells and the texts wrapped right of
    them; pairs without a text are left out."""
    told = (([(pad(name, names), MUTED)], text) for name, text in facts if text)
    return [x for name, text in told for x in ended_lines(name, text, look, [], width)]


def ended_lines(lead: Line, text: str, look: Style, right: Line, width: int) -> Block:
    """A text behind ``lead`` in as many lines as it needs, with ``right`` at the end of the
    first."""
    begin = line_width(lead)
    first, *more = wrap(text, width - begin - line_width(right)) or [""]
    line: Line = [*lead, (first, look)]
    line = with_end(line, right, width) if right else line
    return [line, *([(" " * begin, TEXT), (rest, look)] for rest in more)]


def fact_line(facts: Iterable[tuple[str, str]], width: int) -> Line:
    """(name, value) pairs in a row of at most ``width`` cells, the most important first: the last
    ones are left out where they do not fit."""
    pairs: Block = [[(f"{name} ", MUTED), (value, STRONG)] for name, value in facts]
    while pairs and sum(map(line_width, pairs)) + 2 * (len(pairs) - 1) > width:
        pairs.pop()
    spare = width - sum(map(line_width, pairs))
    gap = " " * min(3, spare // max(1, len(pairs) - 1))
    return [span for at, pair in enumerate(pairs) for span in ([(gap, TEXT)] if at else []) + pair]


def note_text(note: Note, path: str) -> str:
    """Say what is wrong with a file, and where in it."""
    at = "" if note.offset is None else f" at byte {numbers.exact(note.offset)}"
    return f"{clean(path)}{at}: {clean(note.message)}"


def troubles_in(notes: Sequence[Note]) -> list[Note]:
    """The notes about files that could not be read in full."""
    return [n for n in notes if n.level >= Level.WATCH]


def trouble_line(
    notes: Sequence[Note], width: int, glyphs: GlyphSet, *, whole: bool = False
) -> Line:
    """The newest of these notes in one line, and the number of the others. ``whole``: with the
    path, not just its name."""
    more = f"  and {len(notes) - 1} more" if len(notes) > 1 else ""
    path = notes[-1].path
    called = str(path) if whole else path.name or str(path)
    name = fit_middle(clean(called), max(12, width // 3))
    text = (f"{name}: {clean(notes[-1].message)}", style(Token.WATCH))

    return with_end([badge_span(Level.WATCH, glyphs), text], [(more, MUTED)], width)


def trouble_count(notes: Sequence[Note], glyphs: GlyphSet, *, short: bool) -> Span:
    """The number of files that could not be read in full, for the end of a line about something
    else; ``short`` is the badge alone."""
    files = len({n.path for n in notes})
    badge = glyphs.badge(Level.WATCH)
    text = badge if short else f"{badge} trouble reading {counted(files, 'file')}"
    return text, style(Token.WATCH)


def note_lines(notes: Sequence[Note], width: int) -> Block:
    """The first notes in full, wrapped at ``width`` cells; the number of the others."""
    lines: Block = []
    for note in notes[:_MOST]:
        text = hard_wrap(note_text(note, str(note.path)), max(1, width - 4))
        for at, part in enumerate(text):
            lines.append([("    " if at else "  ! ", style(Token.WATCH)), (part, MUTED)])
    if len(notes) > _MOST:
        lines.append([(f"    and {len(notes) - _MOST} more", MUTED)])

    return lines


@lru_cache(maxsize=32)
def distinct(names: Names, width: int) -> Names:
    """``names`` in at most ``width`` cells each, different where the names are.

    When one is too long, the beginning and the end that all share are dropped; what is still too
    long keeps the last part of a path, loses the words that most of the others have too, is cut in
    the middle, or to the part in which it differs from its neighbours. Where that does not suffice,
    a number follows its beginning. Two come out equal only where ``width`` is too small for that.
    """
    if longest(names) <= width:
        return names
    shown = without_common(names, width)
    if longest(shown) <= width:
        return shown
    shares = Counter(word for name in set(names) for word in set(name.split(" ")))
    fewer = tuple(_fewer_words(n, shares, width) for n in names)
    tries = [_own_names(names, width), fewer]
    for tail in _TAILS:
        middle = (fit_middle(n, width, tail) for n in shown)
        tries.append(tuple(n.replace("……", "…") for n in middle))
    fitting = [cut for cut in tries if longest(cut) <= width]
    best = max(fitting or tries, key=lambda cut: len(set(cut)))
    alike = Counter(best)
    given = Counter(names)
    ordered = sorted(given)
    cuts = tuple(
        cut if alike[cut] <= given[name] else _window(name, ordered, width)
        for cut, name in zip(best, names, strict=True)
    )

    return _unique(names, cuts, width)


def _unique(names: Sequence[str], cuts: Sequence[str], width: int) -> Names:
    """The cuts; where two names share one, the later name gets another part of it or a number."""
    owners: dict[str, str] = {}
    for name, cut in zip(names, cuts, strict=True):
        owners.setdefault(cut, name)
    held = {name: cut for cut, name in owners.items()}
    most = max(_FEWEST_PARTS, _MOST_PARTS // len(names))
    numbers = count(1)
    for name in dict.fromkeys(names):
        if name not in held:
            parts = islice(_parts_of(name, width), most)
            free = next((c for c in parts if c not in owners), "")
            if not free:  # the beginning and a number: "env_reward…#12"
                sign = f"…#{next(numbers)}"
                head = fit(name, width - cell_width(sign), ellipsis="").rstrip()
                free = fit(head + sign, width)
            held[name] = free
            owners.setdefault(free, name)

    return tuple(held[name] for name in names)


def _parts_of(name: str, width: int) -> Iterator[str]:
    """Beginnings of a name, the longest first, each with any later part of it."""
    for size in range(max(0, width - 2), -1, -1):
        head = fit(name, size, ellipsis="").rstrip() + "…"
        room = width - cell_width(head)
        for start in range(len(name) - 1, cell_width(head), -1):
            tail = name[start:]
            if cell_width(tail) > room:
                tail = fit(tail, room)
            if cell_width(tail) >= min(room, 2) and not tail.startswith("…"):
                yield head + tail


def without_common(names: Sequence[str], width: int) -> Names:
    """The names without the whole words at either end that all have in common, but for those
    before the part that differs which fit into ``width``."""
    if len(set(names)) < 2:
        return tuple(names)
    head = _whole_words(shared_start(names))
    rest = [n[head:] for n in names]
    ends = [n[::-1] for n in rest]
    tail = _whole_words(shared_start(ends))
    after = "…" if tail else ""
    room = width - max(cell_width(n[: len(n) - tail]) for n in rest) - 1 - len(after)
    # the last whole words of what is common stay as far as there is room
    common = names[0][:head]
    end = head
    while end and cell_width(common[end:]) <= room:
        head = end
        end = max(common.rfind(c, 0, end - 1) for c in _SEPARATORS) + 1
    if cell_width(common[end:]) <= room:
        head = end
    rest = [n[head:] for n in names]
    before = "…" if head else ""

    return tuple(before + n[: len(n) - tail] + after for n in rest)


def _own_names(names: Sequence[str], width: int) -> Names:
    """Each path that is too long as its last part, as whole as possible, behind the part in which
    its folder differs from the others; the names as they are for one folder or too many."""
    paths = {n: n.rsplit("/", 1) for n in names if "/" in n and cell_width(n) > width}
    folders = tuple(dict.fromkeys(folder for folder, _ in paths.values()))
    most = width - 1 - max(_FOLDER_CELLS, width // 4)
    if not 1 < len(folders) <= _MOST_FOLDERS or most < _FOLDER_CELLS:
        return tuple(names)
    owns = tuple(dict.fromkeys(own for _, own in paths.values() if cell_width(own) > most))
    cuts = dict(zip(owns, distinct(owns, most), strict=True))
    out = {}
    for name, (folder, own) in paths.items():
        last = cuts.get(own, own)
        found = distinct(folders, width - 1 - cell_width(last))[folders.index(folder)]
        out[name] = f"{found}/{last}".replace("…/…", "…")

    return tuple(out.get(n, n) for n in names)


def _fewer_words(name: str, shares: Counter[str], width: int) -> str:
    """A name that is too long as the first and the last word, and as much as fits of those between
    that few names share."""
    if cell_width(name) <= width:
        return name
    words = name.split(" ")
    left = list(range(len(words)))
    while len(left) > 2:
        left.remove(max(left[1:-1], key=lambda i: shares[words[i]]))
        gap = next(i for i, at in enumerate(left) if at != i)
        head = " ".join(words[:gap])
        tail = words[left[gap]]
        for before, at in zip(left[gap:], left[gap + 1 :], strict=False):
            tail += (" " if at == before + 1 else "…") + words[at]
        room = width - cell_width(f"{head}…{tail}")
        if room >= 0:
            cut = " " + " ".join(words[gap : left[gap]])
            return head + fit(cut, room, ellipsis="").rstrip(" ,.") + "…" + tail

    return fit_middle(name, width, 1 / 3 if len(words) > 1 else 2 / 3)


def _whole_words(common: str) -> int:
    """Characters up to the last separator; fewer than four are not worth an ellipsis."""
    end = max(common.rfind(c) for c in _SEPARATORS) + 1
    return end if end >= 4 else 0


def _window(name: str, ordered: Sequence[str], width: int) -> str:
    """The beginning of a name, and the part where it leaves the name that is most like it.

    ``ordered``: all names, sorted, so that the one most like it is a neighbour.
    """
    at = bisect_left(ordered, name)
    neighbours = [*ordered[max(0, at - 1) : at], *ordered[at + 1 : at + 2]]
    shared = max(len(shared_start((name, other))) for other in neighbours)
    if shared <= 1:
        return fit(name, width)
    head = fit(name, min(shared - 1, width // 3), ellipsis="") + "…"
    room = width - cell_width(head)
    start = shared - 1
    while start > 0 and cell_width(name[start - 1 :]) <= room:
        start -= 1

    return head + fit(name[start:], room)

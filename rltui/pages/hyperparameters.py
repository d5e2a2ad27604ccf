"""Hyperparameters of a run: what changed at a restart, what differs from other runs, the main ones,
then all, grouped by the first part of their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

from rltui.core.record import entity
from rltui.core.text import fit_middle, pad, words_match
from rltui.draw.line import (
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Line,
    apart,
    fit_line,
    longest,
    side_by_side,
    slot_look,
)
from rltui.draw.prose import distinct, hard_wrap, paragraph
from rltui.draw.table import heading, title_lines
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.groups import slot_of, slot_sign
from rltui.facts.samples import folders_of
from rltui.facts.seams import course_words, jumps
from rltui.facts.settings import (
    LEAST,
    main_settings,
    setting_groups,
    settings_at,
    settings_changed,
    settings_of,
)
from rltui.session import JudgedRun, Session
from rltui.session.hyperparameters import differing_settings, value_text
from rltui.sources.side_files.settings_files import FileSettings, read_settings
from rltui.tui.keys import SETTINGS
from rltui.tui.overlay import Overlay
from rltui.tui.screen import ReadingScreen

#: From this width on the sections stand in two columns.
_TWO_COLUMNS = 150
#: Cells of a column of the differences, at least, and of a value whose runs are counted.
_LEAST_COLUMN, _LONGEST_COUNTED = 8, 24
#: Lines of one value.
_MOST_LINES = 4
_NOTHING = "–"


@entity
class Settings:
    """The hyperparameters of one run."""

    run: JudgedRun
    in_files: FileSettings = field(default_factory=FileSettings)
    """Those in files next to its logs."""
    slot: int | None = None
    """Its slot among the marked runs."""
    step: int | None = None
    """The step at which those that are logged as metrics are shown, too."""

    @property
    def head(self) -> str:
        """The head of its column in a comparison."""
        name = self.run.name
        return name if self.slot is None else f"{slot_sign(self.slot)} {name}"

    @property
    def values(self) -> dict[str, object]:
        """Name -> value; what the logs say wins."""
        return settings_of(self.run, self.in_files)


def setting_lines(
    settings: Settings,
    others: Sequence[Settings],
    view: View,
    width: int,
    text: str = "",
) -> Block:
    """All sections, after the filter ``text``; ``others`` are the runs to compare with."""
    values = settings.values
    shown = values
    if text:
        shown = {n: v for n, v in values.items() if words_match(f"{n} {value_text(v)}", text)}
    lines = apart(
        _moved(settings, view, width, text), _differences(settings, others, view, width, text)
    )
    columns = 2 if width >= _TWO_COLUMNS and len(shown) >= 2 * LEAST else 1
    room = width if columns == 1 else (width - 4) // 2
    sections = [("Main", main_settings(shown)), *setting_groups(shown)]
    blocks = [x for title, rows in sections if (x := _section(title, rows, view, room))]

    if blocks:
        lines = apart(lines, _in_columns(blocks, columns, room, width))
    if lines:
        return lines
    if text:
        return [[("no hyperparameter matches the filter", MUTED)]]
    advice = (
        "The logs of this run hold no hyperparameters. They are read from TensorBoard's hparams "
        "and texts, W&B, MLflow, SwanLab and trackio, the configuration that verl prints, and "
        "from args.json, params.json, config.yaml or hparams.yaml beside the logs"
    )
    trouble = settings.in_files.trouble
    advice += f", which {trouble}." if trouble else "."

    return paragraph(advice, width, MUTED)


def _moved(settings: Settings, view: View, width: int, text: str) -> Block:
    """What is logged as a metric, at the step, and what changed and jumped at a restart."""
    run, step, lines = settings.run, settings.step, Block()
    if step is not None:
        title = f"Logged at {run.step_word} {numbers.step(step)}"
        lines = _section(title, settings_at(run, step, text), view, width)
    jumped = [(run.infos[j.tag].title, course_words(j)) for j in jumps(run)]
    for title, rows in (
        ("Changed at a restart", settings_changed(run, text)),
        ("Jumped at a restart", [row for row in jumped if words_match(" ".join(row), text)]),
    ):
        lines = apart(lines, _section(title, rows, view, width))
    return lines


def _differences(
    settings: Settings, others: Sequence[Settings], view: View, width: int, text: str
) -> Block:
    """The hyperparameters that differ: one column for each run or, where these have no room, how
    many runs have each value."""
    if not others:
        return []
    every = [settings, *others]
    tables = [s.values for s in every]
    names = [
        n
        for n in differing_settings(tables)
        if words_match(" ".join([n, *(value_text(t.get(n, _NOTHING)) for t in tables)]), text)
    ]

    if text and not names:
        return []
    marked = any(s.slot is not None for s in every)
    title = f"Differs between {len(every)} {'marked ' if marked else ''}runs"

    if len(others) == 1:
        title = f"Differs from {others[0].run.name}"
    lines = [heading(title, width, view, str(len(names)))]
    cells = min(longest(names), width * 2 // 5)
    room = (width - cells) // len(every) - 2

    if names and room >= _LEAST_COLUMN:
        lines += _table(every, names, cells, room)
    elif names:
        lines += _counted(tables, names, cells, width)
    silent = [o.run.name for o in others if not o.values]

    if silent:
        words = f"no hyperparameters: {', '.join(silent)}"
        lines.append(fit_line([(words, MUTED)], width))
    elif not names:
        lines.append([("nothing", MUTED)])

    return lines


def _table(every: Sequence[Settings], names: Sequence[str], cells: int, room: int) -> Block:
    """One line for each name of ``cells`` cells, one column of at most ``room`` for each run."""
    tables = [s.values for s in every]
    heads = distinct(tuple(s.head for s in every), room)
    texts = (value_text(t[n]) for t in tables for n in names if n in t)
    width = min(room, longest([*texts, *heads]))

    def cell(text: str, cells: int) -> str:
        return pad(_cut(text, cells), cells)

    looks = [MUTED if s.slot is None else slot_look(s.slot) for s in every]
    above = [(f"  {cell(h, width)}", look) for h, look in zip(heads, looks, strict=True)]
    lines: Block = [[(" " * cells, TEXT), *above]]

    for name in names:
        values = [value_text(t.get(name, _NOTHING)) for t in tables]
        line = [(f"  {cell(v, width)}", TEXT if at else STRONG) for at, v in enumerate(values)]
        lines.append([(cell(name, cells), TEXT), *line])

    return lines


def _counted(
    tables: Sequence[Mapping[str, object]],
    names: Sequence[str],
    cells: int,
    width: int,
) -> Block:
    """One line for each name: its values, the most frequent first; that of the run is strong."""
    lines = Block()
    for name in names:
        own, *others = (value_text(t[name]) if name in t else "not set" for t in tables)
        line: Line = [(pad(_cut(name, cells), cells), TEXT)]
        for value, count in Counter([own, *others]).most_common():
            shown = _cut(value, _LONGEST_COUNTED)
            line += [(f"  {shown}", STRONG if value == own else TEXT), (f" in {count}", MUTED)]
        lines.append(fit_line(line, width))

    return lines


def _cut(text: str, cells: int) -> str:
    return fit_middle(text.replace("\n", " "), cells)


def _section(title: str, rows: Sequence[tuple[str, str]], view: View, width: int) -> Block:
    """A heading and its rows, nothing without any; a long value takes several lines."""
    if not rows:
        return []
    lines = [heading(title, width, view, str(len(rows)))]
    name_cells = min(longest(n for n, _ in rows), width // 2)
    for name, value in rows:
        shown = hard_wrap(value, width - name_cells - 2, _MOST_LINES)
        for at, part in enumerate(shown or [""]):
            head = "" if at else _cut(name, name_cells)
            lines.append([(pad(head, name_cells), TEXT), ("  ", TEXT)])
            lines[-1].append((part, STRONG))

    return lines


def _in_columns(blocks: list[Block], columns: int, room: int, width: int) -> Block:
    """The sections below each other, or in two columns of about the same height."""
    whole = apart(*blocks)
    if columns == 1:
        return whole
    half = (len(whole) + 1) // 2
    starts, at = [], 0

    for block in blocks:
        starts.append(at)
        at += len(block) + 1
    near = min(starts[1:], key=lambda s: abs(s - half), default=half)
    half = near if abs(near - half) <= len(whole) // 6 else half
    left, right = whole[:half], whole[half:]
    while right and not right[0]:
        right = right[1:]

    return side_by_side(left, right, room, width - 2 * room, max(len(left), len(right)))


class HyperparametersScreen(Overlay, ReadingScreen, places=(SETTINGS,)):
    """Sections of names and values, with a filter."""

    MOST = 10_000
    title_words = "Hyperparameters"

    def __init__(
        self,
        session: Session,
        run: JudgedRun,
        among: Sequence[JudgedRun] = (),
        text: str = "",
        step: int | None = None,
    ) -> None:
        """``among``: the runs to compare it with; by default the marked ones, or the reference.
        ``text``: the filter that it opens with; ``step``: see :class:`Settings`."""
        super().__init__()
        self._step = step
        self._among = among
        self._text = text
        self._session = session
        self._run = run
        self._in_files: dict[JudgedRun, FileSettings] = {}
        """Run -> the hyperparameters in files next to its logs."""
        self._drawn: tuple[object, Block] | None = None
        """The key of the newest lines, and the lines."""

    def on_mount(self) -> None:
        """Read the files next to the logs."""
        self.status.filter = self._text
        session, runs = self._session, self._session.runs()
        folders = {}
        for run in self._runs():
            # a reference that was read apart has the key of another run, and lies in no logdir
            logdir = session.logdirs[run.key.logdir] if run in runs else run.data.path
            folders[run] = partial(folders_of, run, runs, logdir)

        def find() -> Callable[[], None]:
            found = {run: read_settings(find_folders()) for run, find_folders in folders.items()}
            return partial(self._in_files.update, found)

        self.read(find)
        super().on_mount()

    def _runs(self) -> list[JudgedRun]:
        """The run, and those that it is compared with."""
        reference = self._session.reference.run
        others = list(self._among) or [m.run for m in self.view.marked]
        if not others and reference is not None:
            others = [reference]
        return [self._run, *(r for r in others if r is not self._run)]

    def _settings(self, run: JudgedRun) -> Settings:
        slot = slot_of(self.view.marked, run)
        step = self._step if run is self._run else None
        return Settings(run, self._in_files.get(run, FileSettings()), slot, step)

    def head(self, width: int) -> Block:
        settings = self._settings(self._run)
        formats = [*settings.run.hyperparameters.formats, *settings.in_files.files]
        count = len(settings.values)
        right = f"{count} from {', '.join(formats)}" if count else ""
        left: Line = [("Hyperparameters ", TITLE), (settings.run.name, MUTED)]
        return title_lines(left, [(right, MUTED)], width)

    def text(self, width: int) -> Block:
        tables = [self._settings(r) for r in self._runs()]
        view, text = self.view, self.status.filter
        values = [(t.head, t.run.hyperparameters.values, t.in_files) for t in tables]
        made_of = (width, text, view.marker, values, self._step is not None and self._run.version)
        if self._drawn is None or self._drawn[0] != made_of:
            lines = setting_lines(tables[0], tables[1:], view, width, text)
            self._drawn = made_of, lines
        return self._drawn[1]

    action_hyperparameters = Overlay.action_close

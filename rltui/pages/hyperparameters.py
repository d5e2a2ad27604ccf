"""Hyperparameters of a run: what changed at a restart, the main ones, then all by the first part of
their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate

from rltui.core.text import fit_middle, pad, words_match
from rltui.draw.line import (
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Line,
    apart,
    longest,
    side_by_side,
)
from rltui.draw.prose import hard_wrap, paragraph
from rltui.draw.table import heading, title_lines
from rltui.draw.view import View
from rltui.facts import numbers
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
from rltui.session.hyperparameters import value_text
from rltui.sources.side_files.settings_files import FileSettings, read_settings
from rltui.tui.keys import SETTINGS
from rltui.tui.overlay import Overlay
from rltui.tui.screen import ReadingScreen, Work

#: From this width on the sections stand in two columns.
_TWO_COLUMNS = 150
#: What stands in files next to the logs before these have been read.
UNREAD = FileSettings(trouble="have not been read yet")
#: Lines of one value.
_MOST_LINES = 4


def side_files(
    session: Session,
    runs: Sequence[JudgedRun],
    take: Callable[[Mapping[JudgedRun, FileSettings]], None],
) -> Work:
    """Work that reads the hyperparameters in files next to the logs of some runs."""
    every = session.runs()
    folders = {}
    for run in runs:
        # a reference that was read apart has the key of another run, and lies in no logdir
        logdir = session.logdirs[run.key.logdir] if run in every else run.data.path
        folders[run] = partial(folders_of, run, every, logdir)

    def find() -> Callable[[], None]:
        found = {run: read_settings(find_folders()) for run, find_folders in folders.items()}
        return partial(take, found)

    return find


def setting_lines(
    run: JudgedRun,
    view: View,
    width: int,
    text: str = "",
    in_files: FileSettings = UNREAD,
    step: int | None = None,
) -> Block:
    """All sections, after the filter ``text``, with the settings ``in_files`` next to the logs;
    ``step``: at which those that are logged as metrics are shown, None for the newest."""
    shown = settings_of(run, in_files)
    if text:
        shown = {n: v for n, v in shown.items() if words_match(f"{n} {value_text(v)}", text)}
    lines = _moved(run, step, view, width, text)
    columns = 2 if width >= _TWO_COLUMNS and len(shown) >= 2 * LEAST else 1
    room = width if columns == 1 else (width - 4) // 2
    sections = [("Main", main_settings(shown)), *setting_groups(shown)]
    blocks = [x for title, rows in sections if (x := _section(title, rows, view, room))]

    if blocks:
        return apart(lines, _in_columns(blocks, columns, room, width))
    if text:
        return lines or [[("no hyperparameter matches the filter", MUTED)]]
    advice = (
        "The logs of this run hold no configuration. It is read from TensorBoard's hparams and "
        "texts, W&B, MLflow, SwanLab and trackio, from what verl prints, and from args.json, "
        "params.json, config.yaml or hparams.yaml beside the logs"
    )
    advice += f", which {in_files.trouble}." if in_files.trouble else "."

    return apart(lines, paragraph(advice, width, MUTED))


def _moved(run: JudgedRun, step: int | None, view: View, width: int, text: str) -> Block:
    """What changed and jumped at a restart, and what is logged as a metric, at the step."""
    lines = Block()
    step = run.points.last_step if step is None else step
    jumped = [(run.infos[j.tag].title, course_words(j)) for j in jumps(run)]
    for title, rows in (
        ("Changed at a restart", settings_changed(run, text)),
        ("Jumped at a restart", [row for row in jumped if words_match(" ".join(row), text)]),
        (f"Logged at {run.step_word} {numbers.step(step)}", settings_at(run, step or 0, text)),
    ):
        lines = apart(lines, _section(title, rows, view, width))
    return lines


def _section(title: str, rows: Sequence[tuple[str, str]], view: View, width: int) -> Block:
    """A heading and its rows, nothing without any; a long value takes several lines."""
    if not rows:
        return []
    lines = [heading(title, width, view, str(len(rows)))]
    room = max(width // 2, width - 2 - longest(value for _, value in rows))
    name_cells = min(longest(n for n, _ in rows), room)
    for name, value in rows:
        shown = hard_wrap(value, width - name_cells - 2, _MOST_LINES)
        for at, part in enumerate(shown or [""]):
            head = "" if at else fit_middle(name.replace("\n", " "), name_cells)
            lines.append([(pad(head, name_cells), TEXT), ("  ", TEXT)])
            lines[-1].append((part, STRONG))

    return lines


def _in_columns(blocks: list[Block], columns: int, room: int, width: int) -> Block:
    """The sections below each other, or in two columns of about the same height."""
    ends = [*accumulate(len(block) + 1 for block in blocks)]
    half = 1 + min(range(len(ends)), key=lambda n: abs(2 * ends[n] - ends[-1]))
    left = apart(*blocks[:half])
    right = apart(*blocks[half:])
    if columns == 1 or not right:
        return apart(*blocks)
    return side_by_side(left, right, room, width - 2 * room, max(len(left), len(right)))


class HyperparametersScreen(Overlay, ReadingScreen, places=(SETTINGS,)):
    """Sections of names and values, with a filter."""

    MOST = 10_000
    title_words = "Hyperparameters"

    def __init__(
        self, session: Session, run: JudgedRun, text: str = "", step: int | None = None
    ) -> None:
        """``text``: the filter that it opens with; ``step``: see :func:`setting_lines`."""
        super().__init__()
        self._step = step
        self._text = text
        self._session = session
        self._run = run
        self._in_files = UNREAD

    def on_mount(self) -> None:
        """Read the files next to the logs."""
        self.status.filter = self._text
        self.read(side_files(self._session, [self._run], self._take))
        super().on_mount()

    def _take(self, found: Mapping[JudgedRun, FileSettings]) -> None:
        (self._in_files,) = found.values()

    def head(self, width: int) -> Block:
        run = self._run
        in_files = self._in_files
        formats = [*run.hyperparameters.formats, *in_files.files]
        count = len(settings_of(run, in_files))
        right = f"{count} from {', '.join(formats)}" if count else ""
        left: Line = [("Hyperparameters ", TITLE), (run.name, MUTED)]
        return title_lines(left, [(right, MUTED)], width)

    def text(self, width: int) -> Block:
        text = self.status.filter
        return setting_lines(self._run, self.view, width, text, self._in_files, self._step)

    action_hyperparameters = Overlay.action_close

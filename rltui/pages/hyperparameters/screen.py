"""The hyperparameters of a run, compared with those of the marked runs or the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rltui.draw.line import Line
from rltui.facts.groups import slot_of
from rltui.facts.samples import folders_of
from rltui.pages.hyperparameters.lines import Settings, setting_lines, settings_head
from rltui.session import RunView, Session
from rltui.sources.side_files.settings_files import FileSettings, read_settings
from rltui.tui.keys import SETTINGS
from rltui.tui.overlay import Overlay
from rltui.tui.screen import ReadingScreen


class HyperparametersScreen(Overlay, ReadingScreen, places=(SETTINGS,)):
    """Sections of names and values, with a filter."""

    MOST = 10_000

    def __init__(self, session: Session, run: RunView, among: Sequence[RunView] = ()) -> None:
        """``among``: the runs to compare it with; by default the marked ones, or the reference."""
        super().__init__()
        self._among = among
        self._session = session
        self._run = run
        self._beside: dict[RunView, FileSettings] = {}
        """What was found in files beside the logs."""
        self._drawn: tuple[object, list[Line]] | None = None
        """The lines, and what they were made of."""

    @property
    def title_words(self) -> str:
        return "Hyperparameters"

    def on_mount(self) -> None:
        """Read the files beside the logs."""
        self.read(partial(self._find, {r: self._folders(r) for r in self._runs()}))
        super().on_mount()

    def _folders(self, run: RunView) -> Callable[[], list[Path]]:
        """Finds the directories of a run, on any thread."""
        session = self._session
        runs = session.runs()
        # a reference that was read apart has the key of another run, and lies in no logdir
        logdir = session.logdirs[run.key.logdir] if run in runs else run.data.path
        return partial(folders_of, run, runs, logdir)

    def _find(self, folders: dict[RunView, Callable[[], list[Path]]]) -> Callable[[], None]:
        return partial(self._beside.update, {k: read_settings(f()) for k, f in folders.items()})

    def _runs(self) -> list[RunView]:
        """The run, and those that it is compared with."""
        reference = self._session.reference.run
        others = list(self._among) or [m.run for m in self.shell.view.marked]
        if not others and reference is not None:
            others = [reference]
        return [self._run, *(r for r in others if r is not self._run)]

    def _settings(self, run: RunView) -> Settings:
        slot = slot_of(self.shell.view.marked, run)
        return Settings(run, self._beside.get(run, FileSettings()), slot)

    def head(self, width: int) -> list[Line]:
        return settings_head(self._settings(self._run), self.shell.view, width)

    def text(self, width: int) -> list[Line]:
        tables = [self._settings(r) for r in self._runs()]
        view, text = self.shell.view, self.status.filter
        values = [(t.head, t.run.hyperparameters.values, t.beside) for t in tables]
        made_of = (width, text, view.marker, values)
        if self._drawn is None or self._drawn[0] != made_of:
            lines = setting_lines(tables[0], tables[1:], view, width, text)
            self._drawn = made_of, lines
        return self._drawn[1]

    # -- keys ------------------------------------------------------------------------------

    def action_hyperparameters(self) -> None:
        self.action_close()

"""Actions on a run that several screens have: its log, samples, hyperparameters, a note on it, and
all runs compared with it."""

from __future__ import annotations

from typing import Any

from rltui.session import JudgedRun, Session
from rltui.session.notes import note_on, write_note
from rltui.tui.screen import Commands, ShellScreen


class RunActions(ShellScreen[Any]):
    """A screen with actions on one run."""

    session: Session

    @property
    def chosen_run(self) -> JudgedRun | None:
        """The run that they are about; None for none, then they do nothing."""
        raise NotImplementedError

    @property
    def chosen_step(self) -> int | None:
        """The step that they are about; None for the newest."""
        return None

    def action_tail(self) -> None:
        """Show the console log at the step, else its end."""
        if (run := self.chosen_run) is not None:
            from rltui.pages.log import LogScreen  # heavy

            self.shell.push_screen(LogScreen(self.session, run, self.chosen_step))

    def action_samples(self) -> None:
        """Show the texts and samples at the step."""
        if (run := self.chosen_run) is not None:
            from rltui.pages.samples import SampleScreen  # heavy

            self.shell.push_screen(SampleScreen(self.session, run, self.chosen_step))

    def action_hyperparameters(self) -> None:
        """Show the hyperparameters, those that are logged as they were at the step."""
        if (run := self.chosen_run) is not None:
            from rltui.pages.hyperparameters import HyperparametersScreen  # heavy

            opened = HyperparametersScreen(self.session, run, step=self.chosen_step)
            self.shell.push_screen(opened)

    def action_compare(self) -> None:
        """Compare all runs with this one; when it is the reference already, with the given
        reference or with none. A run alone is compared with the given reference only."""
        run = self.chosen_run
        reference = self.session.reference
        if run is None:
            return
        now = reference.run
        given = reference.given
        wanted: JudgedRun | None = run
        if len(self.session.views) == 1:
            if given is None:
                self.say("there is no other run to compare with")
                return
            wanted = given if now is None else None
        elif now is run:
            wanted = None if given is run else given
        reference.choose(wanted)
        self.say("compared with no run" if wanted is None else f"compared with {wanted.name}")
        self.update()

    async def action_note(self) -> None:
        """Ask for the note on the run, with the present one as its beginning."""
        if (run := self.chosen_run) is not None:
            await self.action_ask(f"note {note_on(run)}")

    def _keep_note(self, text: str) -> None:
        if (run := self.chosen_run) is None:
            return
        try:
            write_note(run, text)
        except OSError as problem:
            self.say(f"the note is not kept: {problem.strerror}")
            return
        self.say(f"noted on {run.name}" if text else f"no note on {run.name}")
        self.on_news()

    def commands(self) -> Commands:
        return {**super().commands(), "note": self._keep_note}

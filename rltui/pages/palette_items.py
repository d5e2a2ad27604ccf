"""What the palette finds in runs: their metrics, findings and hyperparameters, and the runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from rltui.core.text import clean, spaced
from rltui.facts.findings import finding_rows
from rltui.facts.metrics import FINDINGS, tab_of
from rltui.facts.runs import by_verdict, since_words
from rltui.health.model import Finding
from rltui.pages.hyperparameters import HyperparametersScreen
from rltui.pages.run.chart_screen import ChartScreen, Open
from rltui.pages.run.screen import RunScreen
from rltui.session import JudgedRun, Session
from rltui.session.hyperparameters import value_text
from rltui.tui.shell import Offer


def run_offers(session: Session, run: JudgedRun, opens: Open) -> Iterator[Offer]:
    """Metrics and hyperparameters of a run, which ``opens`` shows."""
    for tag, info in run.infos.items():
        hint = tag if info.key in ("", tag) else f"{tag}  {info.key}"
        call = partial(opens, run, partial(_metric, tag))
        level = run.verdict.tag_level
        yield Offer("metric", info.title, hint, call, partial(level, tag))
    for name, value in run.settings.items():
        show = partial(_settings, session, run, clean(name))
        yield Offer("setting", clean(name), clean(value_text(value)), partial(opens, run, show))


def finding_offers(runs: Iterable[JudgedRun], opens: Open, *, named: bool) -> Iterator[Offer]:
    """What fires in some runs, the worst runs first; with ``named`` each with its run, and the runs
    themselves."""
    for run in sorted(runs, key=by_verdict):
        for finding in run.firing():
            hint = f"{run.name}  " * named + since_words(run, finding)
            call = partial(opens, run, partial(_finding, finding))
            yield Offer("finding", finding.title, hint, call, partial(getattr, finding, "level"))
        if named:
            known = run.recognition
            words = (known.title, known.algorithm or "") if known is not None else ()
            call = partial(opens, run, lambda _: None)
            level = partial(getattr, run.verdict, "mark")
            yield Offer("run", run.name, spaced(*words, by=" · "), call, level)


def _metric(tag: str, screen: ChartScreen) -> None:
    if isinstance(screen, RunScreen) and tag in screen.run.infos:
        screen.open_metric(tab_of(screen.run.infos[tag]), tag)


def _finding(finding: Finding, screen: ChartScreen) -> None:
    if isinstance(screen, RunScreen):
        screen.select_tab(FINDINGS)
        for row in (r for r in finding_rows(screen.run) if r.finding == finding):
            screen.items.put(row.id)


def _settings(session: Session, run: JudgedRun, name: str, screen: ChartScreen) -> None:
    screen.shell.push_screen(HyperparametersScreen(session, run, text=name))

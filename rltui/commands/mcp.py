"""``rltui mcp``: a server of the Model Context Protocol on standard input and output, for coding
agents. It only reads.

The main thread owns the session and follows the logs; the protocol has an event loop on a thread of
its own. A tool asks at the :class:`QuestionQueue`, and the main thread answers between two looks at
the logs. Nothing but the protocol goes to standard output, and whatever runs meanwhile finds
standard input empty: the SDK moves both away.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote

from rltui.commands.command import open_config, open_session, report_trouble
from rltui.commands.departure import departing
from rltui.commands.terminal import is_piped
from rltui.commands.verbs import Exit
from rltui.core.errors import RltuiError, UsageError
from rltui.core.fault import reported
from rltui.core.installation import need, state_directory
from rltui.core.text import Json, Names
from rltui.facts.samples import Read, SampleBrowser, root_of
from rltui.health.configured import open_catalogue, open_rules
from rltui.output import brief
from rltui.output import tool_answers as texts
from rltui.output.brief_entry import quoted
from rltui.output.explain import explain_document, explain_text
from rltui.output.json_document import run_entry
from rltui.output.json_text import dump
from rltui.output.tool_answers import DATA, Answer
from rltui.session import JudgedRun, Session
from rltui.session.answers import Answers
from rltui.session.event import FINISHED, Watcher, updates
from rltui.sources.side_files.sample_files import SampleSet
from rltui.sources.side_files.trajectory import SampleRow

if TYPE_CHECKING:
    from rltui.catalogue import Catalogue
    from rltui.health.rule import Rule

T = TypeVar("T")

#: Seconds for which the first answers wait until the logs have been read, and an answer waits for
#: points that were unloaded.
_FIRST_READ_S = 20.0
_LOAD_S = 10.0
#: Tables that an explanation as a document leaves out: they name every framework.
_LONG = ("logged_as", "tags")


def mcp(options: argparse.Namespace) -> int:
    """Serve a client until it closes standard input, or until interrupted."""
    need("rltui mcp", "mcp>=2")
    if is_piped(options):
        raise UsageError("standard input is what the client sends; name a log file instead of '-'")
    return departing(lambda _: _serve(options), None, debugged=options.debug)


def _serve(options: argparse.Namespace) -> int:
    config = open_config(options)
    session = open_session(options, config, waits=True, partial=True, later=True, absent=True)
    report_trouble(session)
    desk = QuestionQueue(session)
    tools = Tools(desk, Answers(state_directory(os.environ)), options)
    failed: list[BaseException] = []
    over = threading.Event()

    from rltui.commands.mcp_server import run, server_of  # an extra

    def protocol() -> None:
        try:
            asyncio.run(run(server_of(tools, Resources(desk), text=options.text)))
        except BaseException as error:  # noqa: BLE001 - told on the main thread
            failed.append(error)
        over.set()
        desk.asked.set()

    threading.Thread(target=protocol, name="rltui-mcp", daemon=True).start()
    with suppress(KeyboardInterrupt):
        desk.follow(over)
    if failed and not _is_gone(failed[0]):
        raise failed[0]
    return Exit.OK


def _is_gone(error: BaseException) -> bool:
    """Whether the protocol ended because nobody reads its answers any more."""
    parts = getattr(error, "exceptions", None)  # of a group
    return all(map(_is_gone, parts)) if parts else isinstance(error, BrokenPipeError)


# -- between the threads ---------------------------------------------------------------------


class _Question(NamedTuple):
    look: Callable[[bool], Any]
    """Asked again until it has an answer; with True for the last time."""
    until: float
    """When that is: monotonic seconds."""
    answer: Future[Any]


class QuestionQueue:
    """Where the tools ask, on the thread of the protocol, and the owner of a session answers."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.asked = threading.Event()
        """Set when there is a new question."""
        self._new: SimpleQueue[_Question] = SimpleQueue()
        self._open: list[_Question] = []
        self._began = session.clock.monotonic()
        self._is_read = False
        """Whether the logs that were there have been read and judged."""

    # -- on the thread of the protocol -----------------------------------------------------

    async def ask(self, look: Callable[[bool], T | None], seconds: float = 0.0) -> T:
        """Call ``look`` on the thread of the owner until it returns something other than None, for
        at most ``seconds``: then a last time, with True."""
        until = self.session.clock.monotonic() + seconds
        answer: Future[T] = Future()
        self._new.put(_Question(look, until, answer))
        self.asked.set()
        return await asyncio.wrap_future(answer)

    async def tell(self, answer: Callable[[], T]) -> T:
        """Call ``answer`` there, once the logs have been read the first time."""
        left = self._began + _FIRST_READ_S - self.session.clock.monotonic()
        return await self.ask(lambda last: answer() if last or self.is_read() else None, left)

    # -- on that of the owner --------------------------------------------------------------

    def follow(self, over: threading.Event) -> None:
        """Follow the logs and answer, until ``over`` is set."""
        with closing(updates(self.session, over, self.asked)) as each:
            for _ in each:
                self.turn()

    def turn(self) -> None:
        """Answer what can be answered now."""
        while not self._new.empty():
            self._open.append(self._new.get())
        if not self._open:
            return
        now = self.session.clock.monotonic()
        self._open = [q for q in self._open if not self._answered(q, now >= q.until)]

    def _answered(self, question: _Question, is_last: bool) -> bool:
        answer = question.answer
        if answer.cancelled():
            return True
        try:
            found = question.look(is_last)
        except RltuiError as error:
            found = error
        except Exception as error:  # noqa: BLE001 - one question must not end the server
            found = RltuiError(reported(error, "this could not be answered").text)
        if found is None and not is_last:
            return False
        if answer.set_running_or_notify_cancel():
            (answer.set_exception if isinstance(found, RltuiError) else answer.set_result)(found)
        return True

    def is_read(self) -> bool:
        """Whether the logs have been read and judged once."""
        session = self.session
        if not self._is_read:
            known = len(session.views) >= session.run_count and not session.reach.searching
            settled = session.reading() is None and not session.busy and not session.unsettled
            self._is_read = known and settled
        return self._is_read


# -- the tools -------------------------------------------------------------------------------


class Tools:
    """Each public method is a tool: its arguments make the schema, its docstring is what clients
    are told: title, description, arguments. All raise RltuiError, and run on the thread of the
    protocol."""

    def __init__(self, desk: QuestionQueue, answers: Answers, options: argparse.Namespace) -> None:
        self._desk = desk
        self._session = desk.session
        self._answers = answers
        self._options = options

    async def list_runs(self, match: str = "") -> Answer:
        """List runs

        The runs, worst first: trainer, step, state, level, worst finding.

        match: words of name, framework or state, !word excludes; or a glob of names
        """
        return await self._desk.tell(lambda: texts.runs_answer(self._session, match))

    async def judge(self, run: str = "", since: str = "", whole: bool = False) -> Answer:
        """Judge a run

        Verdict on a run: what is wrong and since when, evidence, what moved first, the next step;
        what looks unusual, with the reason; what cannot be judged.

        run: name or glob; default: the worst
        since: id of an earlier answer, for changes only
        whole: with the rest
        """
        return await self._desk.tell(lambda: self._judged(self._one(run), since, whole=whole))

    async def series(
        self,
        metric: str,
        run: str = "",
        points: int = 50,
        first_step: int | None = None,
        last_step: int | None = None,
    ) -> Answer:
        """Read a curve

        Points of a metric, minima and maxima kept.

        metric: tag, key or title
        run: name or glob; default: the worst
        points: at most so many
        first_step: from this step on
        last_step: up to this step
        """
        view = await self._desk.tell(lambda: self._one(run))
        span = (first_step, last_step)

        def look(is_last: bool) -> Answer | None:
            found = texts.series_answer(view, metric, points, span)
            if found is None and is_last:
                raise RltuiError("the points are being read again: ask again in a few seconds")
            return found

        return await self._desk.ask(look, _LOAD_S)

    async def compare(self, runs: Names = ()) -> Answer:
        """Compare runs

        Runs side by side: verdicts, where their main metrics got to, settings that differ.

        runs: names or globs; default: all
        """
        return await self._desk.tell(lambda: texts.comparison(self._session, runs))

    async def explain(self, name: str) -> Answer:
        """Explain a name

        What a tag, metric, rule or symptom means, its healthy range, what to check.

        name: the tag, key, id or title; or a line of a log
        """

        def found() -> Answer:
            catalogue, rules = self._knowledge
            document = explain_document(catalogue, rules, name, self._options.framework)
            text = texts.bounded(explain_text(document).splitlines())
            return Answer(text, {key: x for key, x in document.items() if key not in _LONG})

        return await asyncio.to_thread(found)  # takes a second, and needs no session

    async def log_tail(self, run: str = "", lines: int = 30) -> Answer:
        """Read the end of a log

        Last lines of the console log of a run, also of one that lies beside its metrics.

        run: name or glob; default: the worst
        lines: at most so many
        """
        view = await self._desk.tell(lambda: self._one(run))
        session = self._session
        root = partial(root_of, view, session.runs(), session.logdirs[view.key.logdir])
        return await self._desk.ask(lambda _: texts.log_answer(session, view, root(), lines))

    async def wait(
        self, run: str = "", since: str = "", step: int | None = None, seconds: int = 50
    ) -> Answer:
        """Wait for news

        Wait until a verdict changes, a run ends or reaches a step, or the seconds are over.
        Cheaper than asking again and again.

        run: name or glob; default: any
        since: id of an earlier answer, for changes only
        step: step to reach
        seconds: at most so long
        """
        waiting = await self._desk.tell(lambda: _Waiting(self._session, run, step))

        def look(is_last: bool) -> Answer | None:
            why, view = waiting.look()
            if not why and not is_last:
                return None
            why = why or f"nothing happened in {seconds} seconds: wait again, or judge"
            judged = self._judged(view or self._one(run), since)
            return Answer(f"{why}\n{judged.text}", {"event": why, "answer": judged.facts})

        return await self._desk.ask(look, seconds)

    async def samples(
        self, run: str = "", step: int | None = None, worst: int = 3, kind: str = ""
    ) -> Answer:
        """Read samples

        Prompts and completions that a run saved, the lowest reward first.

        run: name or glob; default: the worst
        step: near this step; default: the newest
        worst: at most so many
        kind: one of those that an answer names
        """
        view = await self._desk.tell(lambda: self._one(run))  # "" is another one later, perhaps
        browser = await self._desk.ask(lambda _: self._browser(view, step))
        await self._read_next(view, browser)  # which kinds there are
        names = browser.names
        if not names:
            raise UsageError(
                browser.more or "this run saved no samples; list_runs lists other runs"
            )
        if kind and kind not in names:
            raise UsageError(f"no samples {quoted(kind)}; there are {texts.some(names)}")
        if kind:
            browser.kind_by(names.index(kind) - browser.kind)
        await self._read(view, browser)
        rows = sorted(browser.rows, key=lambda row: (row.reward != row.reward, row.reward))
        note = f" ({browser.note})" if browser.note else ""
        head = f"{len(rows)} samples{note}, kinds: {texts.some(names)}. {DATA}\n"
        told = list[str]()
        facts = list[Json]()
        for number, row in enumerate(rows[:worst], 1):
            await self._read(view, browser, row)
            answer = texts.sample_answer(number, row, browser.sample(row))
            told += answer.text.splitlines()
            facts.append(answer.facts)
        text = head + texts.bounded(told, 2_000 * worst)
        known = {"run": view.name, "kinds": list(names), "note": browser.note, "count": len(rows)}
        return Answer(text, {**known, "notice": DATA, "samples": facts})

    async def _read(
        self, run: JudgedRun, browser: SampleBrowser, row: SampleRow | None = None
    ) -> None:
        """Read all that a browser asks for."""
        while await self._read_next(run, browser, row):
            pass

    async def _read_next(
        self, run: JudgedRun, browser: SampleBrowser, row: SampleRow | None = None
    ) -> bool:
        """Read what a browser asks for next, on a thread of its own: it may take long; False when
        it asks for nothing."""
        ask = self._desk.ask
        now = self._session.clock.monotonic()
        read = await ask(lambda _: self._request(run, browser, row, now))
        if read is None:
            return False
        apply = await asyncio.to_thread(read)
        await ask(lambda _: apply())
        return True

    @cached_property
    def _knowledge(self) -> tuple[Catalogue, tuple[Rule, ...]]:
        """Catalogue and rules, read at the first question and kept: each copy takes megabytes."""
        config = open_config(self._options)
        catalogue = open_catalogue(config)
        return catalogue, open_rules(config, catalogue)

    # -- on the thread of the owner --------------------------------------------------------

    def _one(self, name: str) -> JudgedRun:
        return texts.one_run(self._session, name)

    def _browser(self, run: JudgedRun, step: int | None) -> SampleBrowser:
        others = self._session.runs()
        logdir = self._session.logdirs[run.key.logdir]

        def root() -> Path:
            found = root_of(run, others, logdir)
            texts.check_inside(self._session, run, found)
            return found

        return SampleBrowser(run, root, step)

    def _request(
        self, run: JudgedRun, browser: SampleBrowser, row: SampleRow | None, now: float
    ) -> Read | None:
        """Choose what to read next. Raises UsageError for a file outside of LOGDIR."""
        kind = browser.current
        path = kind.file_of(browser.step) if isinstance(kind, SampleSet) else None
        texts.check_inside(self._session, run, *([path] if path else []))
        return browser.request(row, now)

    def _judged(self, run: JudgedRun, since: str, *, whole: bool = False) -> Answer:
        """The brief of a run, or what changed in it; ``whole``: as long as one of many runs."""
        texts.check_inside(self._session, run, run.data.path, *run.data.files.sources)
        document = brief.brief_document(self._session, [run])
        document["reading"] = self._session.reading()
        document = brief.answered(document, since or None, self._answers)
        if whole:
            return Answer(brief.text_of(document, "", brief.MOST_OF_ALL), document)
        rest = "call judge with this run and whole=true"
        return Answer(brief.text_of(document, rest), document)


class Resources:
    """Documents about runs that a client may attach: ``rltui://run/NAME`` and
    ``rltui://report/NAME``. Methods run on the thread of the protocol."""

    types = MappingProxyType({"run": "application/json", "report": "text/html"})
    """Kind of a document -> its type."""

    def __init__(self, desk: QuestionQueue) -> None:
        self._desk = desk

    async def names(self) -> list[str]:
        """Names of the runs, the worst first."""
        facts = (await self._desk.tell(lambda: texts.runs_answer(self._desk.session, ""))).facts
        return [run["name"] for run in facts["runs"]]

    async def read(self, uri: str) -> tuple[str, str]:
        """Type and text of a document. Raises RltuiError."""
        kind, _, name = uri.removeprefix("rltui://").partition("/")
        if kind not in self.types:
            raise UsageError(
                f"no resource {quoted(uri)}; use rltui://run/NAME or rltui://report/NAME"
            )

        def told() -> str:
            session = self._desk.session
            run = texts.one_run(session, unquote(name))
            if kind == "run":
                return dump(run_entry(run))
            from rltui.output.html_report import html_report  # for a report only

            return html_report(session, run)

        return self.types[kind], await self._desk.tell(told)


class _Waiting:
    """Events that somebody waits for. On the thread of the owner."""

    def __init__(self, session: Session, name: str, step: int | None) -> None:
        self._step = step
        one = texts.one_run(session, name) if name or step is not None else None
        self._key = None if one is None else one.key
        self._watcher = Watcher(session)
        self._watcher.events()
        self._known = {run.key: run for run in session.runs() if one is None or run is one}
        self._ended = {
            key for key, run in self._known.items() if one is None and run.verdict.has_ended
        }

    def look(self) -> tuple[str, JudgedRun | None]:
        """Say what happened, and to which run; "" for nothing."""
        for event in self._watcher.events():
            is_asked = self._key in (None, event.run.key) and event.finding.rule != FINISHED
            if is_asked and event.is_news:
                change = f"{event.kind.value}: [{event.finding.rule}] {event.finding.level.word}"
                return f"{change} in run {quoted(event.run.name)}", event.run
        for key, run in self._known.items():
            name = quoted(run.name)
            last = run.data.last_step
            if self._step is not None and last is not None and last >= self._step:
                return f"run {name} has reached step {last}", run
            if key not in self._ended and run.verdict.has_ended:
                return f"run {name} has ended: {run.verdict.state_word}", run
        return "", None

"""The list of runs. What the list of runs knows of them, found again for those that changed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rltui.core.address import parse_logdir
from rltui.core.batch import LogTail, Note
from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.runs import ListedRuns, runs_matching
from rltui.output.html_report import html_report
from rltui.output.json_document import run_entry
from rltui.pages.app import RltuiApp
from rltui.pages.run.header import runs_header
from rltui.pages.runs.lines import RunRows
from rltui.session import Session, notes
from rltui.session.session import Choice
from rltui.sources.side_files.settings_files import NO_FACTS
from tests.builders import LOGDIR, a_batch, a_source, steps
from tests.commands.conftest import write_jsonl
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock, grpo_tags
from tests.tui.driving import driving
from tests.tui.hand import Hand, a_look, open_app, read_at_once


def several() -> tuple[Any, ...]:
    return (
        grpo_batch(60, run="bad/run"),
        grpo_batch(30, run="calm", collapse=None),
        grpo_batch(20, run="young", collapse=None),
    )


async def test_several_runs_open_on_the_list() -> None:
    async with open_app(*several()) as hand:
        assert hand.runs.is_current
        assert all(n in hand.text for n in ("bad", "calm", "young"))
        await hand.press("enter")
        assert hand.run.run.key.name == "bad/run"
        await hand.press("r", "j", "enter")
        assert hand.run.run.key.name != "bad/run"
        await hand.press("escape", "escape", "escape")
        assert hand.runs.is_current
        assert hand.app.is_running


async def test_a_run_opens_where_it_was_left() -> None:
    async with open_app(*several()) as hand:
        await hand.press("enter", "3", "G")
        row = hand.cursor
        await hand.press("r", "j", "enter")
        assert hand.run.tab == "overview"
        await hand.press("r", "k", "enter")
        assert (hand.run.tab, hand.cursor) == ("actor", row)


async def test_filter_of_runs() -> None:
    async with open_app(*several()) as hand:
        await hand.press("slash", *"calm", "enter")
        assert "young" not in hand.text
        assert "2 hidden by the filter" in hand.text
        assert "1 of 3" in hand.footer
        await hand.press("escape")
        assert "young" in hand.text


async def test_the_first_of_several_known_runs_does_not_open_by_itself() -> None:
    reader = FakeReader()
    app = RltuiApp(a_session(reader=reader), a_look())
    async with app.run_test(size=(80, 24)) as pilot:
        hand = Hand(app, pilot, reader)
        reader.run_count = 2  # the thread of the reader found them after the start
        await hand.feed(grpo_batch(9, run="first"))
        assert hand.runs.is_current
        assert "1 of 2 read" in hand.lines[0]


async def test_runs_that_were_not_chosen_are_named(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "calm.jsonl", {"loss": [0.5] * 30})
    session = Session([tmp_path], choice=Choice(run_glob="clam", waits=True))
    session.scan()
    app = RltuiApp(session, a_look())
    async with driving(app, size=(100, 24)) as pilot:
        await pilot.pause()
        words = " ".join(Hand(app, pilot, FakeReader()).text.split())
    assert "no run matches 'clam' (--run); did you mean 'calm'?; 1 run found: calm" in words
    assert "waiting for logs in" in words
    assert "trouble" not in words


async def test_without_runs_it_says_where_it_looks_and_what_is_in_the_way() -> None:
    reader = FakeReader()
    long = LOGDIR / ("experiment-" * 5) / "train.jsonl"
    reader.notes = (Note(LOGDIR, None, Level.WATCH, "cannot be read: Permission denied"),)
    reader.unclaimed = (Note(long, 1234, Level.OK, "not valid JSON: a line ends too early"),)
    app = RltuiApp(a_session(reader=reader), a_look())
    async with driving(app, size=(80, 24)) as pilot:
        hand = Hand(app, pilot, reader)
        await hand.settle()
        assert "no log could be read in" in hand.text
        assert "waiting for logs" not in hand.text
        assert str(LOGDIR) in hand.text
        words = " ".join(hand.text.split())
        assert "trouble reading ! /logs: cannot be read: Permission denied" in words
        assert "not understood as a log ! /logs/experiment-" in words
        assert "at byte 1,234: not valid JSON: a line ends too early" in words
        await hand.press("colon", *"tab actor", "enter")
        assert "open a run first" in hand.notices


@pytest.mark.parametrize("word", ["✖", "entropy collapse"])
async def test_a_click_on_the_verdict_opens_a_run_at_its_findings(word: str) -> None:
    async with open_app(*several(), size=(80, 24)) as hand:
        row = next(n for n, line in enumerate(hand.lines) if "✖ bad " in line)
        await hand.press("j")
        await hand.pilot.click(offset=(6, row))
        await hand.settle()
        assert hand.runs.is_current, "a click elsewhere chooses"
        await hand.pilot.click(offset=(hand.lines[row].index(word), row))
        await hand.settle()
        assert hand.run.tab == "findings"


async def test_two_quick_clicks_open_a_run_once() -> None:
    async with open_app(*several()) as hand:
        runs = hand.runs
        runs.action_enter()
        runs.action_enter()
        await hand.settle()
        assert len(hand.app.screen_stack) == 2
        assert "Esc back" in hand.footer
        await hand.press("escape")
        assert hand.runs is runs
        assert "Esc back" not in hand.footer, "there is nothing to go back to"


@asynccontextmanager
async def picked(*batches: Any) -> AsyncIterator[Hand]:
    """The app over a logdir that was chosen in the picker."""
    reader = FakeReader()
    session = a_session(*batches, reader=reader, clock=grpo_clock())
    app = RltuiApp(session, a_look(), from_picker=True)
    async with driving(app, size=(120, 36)) as pilot:
        hand = Hand(app, pilot, reader)
        await hand.settle()
        yield hand


async def test_escape_leads_from_the_list_of_runs_back_to_the_picker() -> None:
    async with picked(*several()) as hand:
        await hand.press("slash", *"calm", "enter", "enter", "escape", "escape")
        assert hand.runs.status.filter == "", "first back to the list, then the filter"
        assert hand.app.is_running
        assert "Esc back" in hand.footer
        await hand.press("escape")
    assert hand.app.return_value is True


async def test_escape_leads_from_a_run_that_is_alone_back_to_the_picker() -> None:
    async with picked(grpo_batch(60)) as hand:
        assert "Esc back" in hand.footer
        await hand.press("enter", "escape")
        assert hand.run.is_current, "out of the chart"
        await hand.press("escape")
    assert hand.app.return_value is True


async def test_c_makes_the_run_at_the_cursor_the_reference_and_clears_it() -> None:
    async with open_app(*several()) as hand:
        await hand.press("j", "c")
        assert hand.app.session.reference.run is hand.app.session.views[hand.ids[1]]
        assert "the others are compared with it" in hand.text
        await hand.press("c")
        assert hand.app.session.reference.run is None
        assert "compared with it" not in hand.text


async def test_c_compares_a_run_that_is_alone_with_the_given_reference_only(tmp_path: Path) -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("c")
        assert hand.app.session.reference.run is None
        assert "no other run" in hand.notices
    good = tmp_path / "good.jsonl"
    write_jsonl(good, grpo_tags(60, collapse=None))
    async with open_app(grpo_batch(60), choice=Choice(reference=str(good))) as hand:
        session = hand.app.session
        given = session.reference.run
        assert given is not None
        await hand.press("c")
        assert session.reference.run is None
        await hand.press("c")
        assert session.reference.run is given


async def test_a_reference_from_elsewhere_is_compared_with_a_run_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_at_once(monkeypatch)
    past = write_jsonl(tmp_path / "past" / "calm.jsonl", grpo_tags(60, collapse=None))
    (past.parent / "config.yaml").write_text("lr: 0.003\nloss_mode: cispo\n")
    batches = grpo_batch(60), grpo_batch(30, run=past.name, collapse=None, total=200)
    async with open_app(*batches, choice=Choice(reference=str(past))) as hand:
        session = hand.app.session
        given = session.reference.run
        assert given.key.name in {key.name for key in session.views}
        known = given.recognition
        given.facts, given.recognition = (
            NO_FACTS,
            known._replace(scope=known.scope._replace(loss="")),
        )
        await hand.press("C", "H")
        await hand.feed(grpo_batch(61))
        (line,) = (x for x in hand.lines if x.split()[:1] == ["lr"])
        assert line.split()[1:] == ["not", "logged"] * 2 + ["0.003"], "from beside the reference"
        assert "to reference" in hand.text


async def test_a_host_that_is_lost_stands_above_the_runs() -> None:
    async with open_app(*several()) as hand:
        await hand.settle()
        assert "reachable" not in hand.text
        cursor = hand.cursor
        text = "not reachable since 10:00:00: no \x1b[31mroute"
        hand.reader.notes = (Note(LOGDIR, None, Level.WATCH, text),)
        hand.app.pump.age()
        await hand.settle()
        row = next(n for n, line in enumerate(hand.lines) if "not reachable" in line)
        assert row < next(n for n, line in enumerate(hand.lines) if "✖ bad" in line)
        assert "▲ /logs: not reachable" in hand.lines[row]
        assert "\x1b" not in hand.text
        assert hand.cursor == cursor
        hand.reader.notes = ()
        hand.app.pump.age()
        await hand.settle()
        assert "reachable" not in hand.text


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_corrupt_file_beside_a_good_one_is_named(size: tuple[int, int]) -> None:
    note = Note(Path("events.\x1b[31m.corrupt"), 0, Level.WATCH, "corrupt record")
    calm = grpo_batch(60, run="good", collapse=None)
    good = a_batch(*calm.items, run="good", notes=(note,), source=calm.source)
    async with open_app(good, grpo_batch(60, run="bad/run"), size=size) as hand:
        assert any("good" in x and "▲ ev" in x for x in hand.lines)
        assert "\x1b" not in hand.text
        await hand.press("j")
        assert "corrupt record" in hand.text
        await hand.press("enter")
        assert hand.run.run.name == "good"
        assert "▲ ev" in hand.text
        assert "corrupt record" in hand.text
        await hand.press("9")
        assert "Trouble reading" in hand.text


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_unreadable_files_are_counted_beside_a_finding(size: tuple[int, int]) -> None:
    notes = [Note(LOGDIR / f"{n}.corrupt", 0, Level.WATCH, "corrupt record") for n in (1, 1, 2)]
    one = grpo_batch(60, run="one", notes=tuple(notes[:1]))
    two = grpo_batch(60, run="two", notes=tuple(notes))
    async with open_app(one, two, grpo_batch(60, run="three"), size=size) as hand:
        names = ("one", "two", "three")
        rows = {n: x.rstrip() for n in names for x in hand.lines if f"✖ {n} " in x}
        assert "entropy collapse" in rows["one"], "the worst finding"
        assert rows["one"].endswith(" ▲")
        assert rows["two"].endswith(" ▲")
        assert "▲" not in rows["three"]
        await hand.resize(size[0], 10)
        below = "".join(hand.lines[6:-1])  # of the run at the cursor
        assert "▲ trouble reading 1 file" in below or "▲ 1.corrupt: corrupt record" in below


async def test_under_a_short_list_is_what_is_known_of_the_run_at_the_cursor() -> None:
    async with open_app(*several(), size=(160, 45)) as hand:
        assert "Enter opens it" in hand.text
        assert "Do: Lower" in hand.text, "what to do about the bad run"
        assert "reading" not in hand.text
        await hand.press("j")
        assert "Lower the learning rate" not in hand.text
        assert "no row for 10 m" in hand.text
        await hand.press("slash", *"zzz")
        assert "Enter opens it" not in hand.text, "no run is left"


VIEW = View()


@pytest.fixture
def session() -> Session:
    return a_session(
        grpo_batch(60, run="bad/run"),
        grpo_batch(30, run="calm", collapse=None),
        grpo_batch(20, run="young", collapse=None),
        clock=grpo_clock(),
    )


def test_runs_are_found_by_their_host() -> None:
    near, far = grpo_batch(20, run="near"), grpo_batch(20, run="far")
    far = replace(far, run_path=parse_logdir("node8:/runs/far"))
    runs = a_session(near, far, clock=grpo_clock()).runs()
    assert [run.name for run in runs_matching(runs, "node8")] == ["far"]


def test_an_order_is_kept_until_a_run_changes(session: Session) -> None:
    listed, runs = ListedRuns(session.runs()), session.runs()
    assert next(x.name for x in listed.shown("verdict", "")) == "bad"
    assert runs[0].full_report is not None
    runs[0].full_report = replace(runs[0].full_report, findings=(), level=Level.UNKNOWN)
    runs[0].version += 1
    listed.refresh(runs)
    assert [x.name for x in listed.shown("verdict", "")][-1] == "bad"


def test_what_crashed_comes_first_then_what_does_most_harm() -> None:
    tags = grpo_tags(60, 1, None)
    slow = {**tags, "timing_s/step": [20.0] * 40 + [400.0] * 20}
    lost = {**tags, "actor/pg_loss": [0.1] * 40 + [float("nan")] * 20}
    error = ("Traceback (most recent call last):", "  File", "RuntimeError: CUDA out of memory")
    died = replace(
        a_batch(
            steps(1, grpo_tags(30, 1, None)), run="z", source=a_source("z.log", format="console")
        ),
        tail=LogTail(error, len(error)),
    )
    batches = [a_batch(steps(1, t), run=n) for n, t in (("a", slow), ("b", lost), ("c", tags))]
    runs = a_session(*batches, died, clock=grpo_clock()).runs()
    assert [x.name for x in ListedRuns(runs).shown("verdict", "")] == ["z", "b", "a", "c"]


def test_the_header_says_how_many_are_judged_until_all_are(session: Session) -> None:
    def header() -> str:
        return plain(runs_header(ListedRuns(session.runs()).counts, "logs", VIEW, 80))

    assert "3 runs" in header()
    run = session.runs()[0]
    run.full_report = None
    run.version += 1
    assert "judging 2 of 3" in header()
    assert "ok" not in header()


def test_names_and_columns_stay_while_a_filter_is_typed(session: Session) -> None:
    listed = ListedRuns(session.runs())
    heads = [
        RunRows(listed.shown("name", text), VIEW, 60, None, None, listed.names).head()
        for text in ("", "calm")
    ]
    assert heads[0] == heads[1]


def names_of(hand: Hand) -> list[str]:
    return [key.name for key in hand.ids]


async def test_columns_are_chosen_sorted_by_and_filtered_by() -> None:
    async with open_app(*several()) as hand:
        await hand.press("a", *"entropy.min,response_length@20", "enter")
        head = next(line for line in hand.lines if "state" in line)
        assert "entropy.min" in head
        assert "response_length@20" in head
        await hand.press("o", "o", "o")
        assert "by entropy.min" in hand.footer
        first = names_of(hand)
        await hand.press("O")
        assert names_of(hand) == first[::-1]
        assert "by entropy.min, reversed" in hand.footer
        assert first[-1] == "bad/run"
        await hand.press("slash", *"entropy.min < 0.1", "enter")
        assert names_of(hand) == ["bad/run"]
        await hand.press("escape", "colon", *"columns", "enter")
        assert "entropy.min" not in hand.text.replace("by entropy.min", "")
        assert "by verdict" in hand.footer


@pytest.mark.parametrize("size", [(80, 24), (60, 24), (40, 20), (120, 36), (200, 50)])
async def test_columns_fit_every_width(size: tuple[int, int]) -> None:
    columns = ("entropy.best", "critic/rewards/mean.smooth", "lr", "reward@10", "no.such.metric")
    async with open_app(*several(), size=size, look=a_look(columns=columns)) as hand:
        for _ in range(7):
            await hand.press("o")
        order = hand.app.state.order
        assert order == "no.such.metric"
        assert order in next(line for line in hand.lines if "Run" in line), "what sorts stays"
        assert all(name in hand.text for name in ("bad", "calm", "young"))


@pytest.fixture
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state é"))
    return tmp_path / "state é"


@pytest.mark.usefixtures("own_state")
async def test_a_note_is_shown_found_exported_and_taken_back() -> None:
    async with open_app(*several()) as hand:
        await hand.press("G", "colon", *"note restart from 60", "enter")
        assert "restart from 60" in hand.text
        run = hand.app.session.views[hand.cursor]
        await hand.press("slash", *"from 60", "enter")
        assert names_of(hand) == [run.key.name]
        await hand.press("enter")
        assert "restart from 60" in hand.lines[0]
        assert run_entry(run)["note"] == "restart from 60"
        assert "Note: restart from 60" in html_report(hand.app.session)
        await hand.run.run_action("note")
        await hand.settle()
        assert "note restart from 60" in hand.footer, "it is there to be changed"
        await hand.press("ctrl+u", *"note", "enter")
        assert "restart from 60" not in hand.lines[0]
        assert run_entry(run)["note"] == ""


async def test_a_note_outlives_the_app_and_a_broken_file(own_state: Path) -> None:
    async with open_app(*several()) as hand:
        await hand.press("colon", *"note try \\x1b[31m again", "enter")
    async with open_app(*several()) as hand:
        assert "again" in hand.text
        assert "\x1b" not in hand.text
        file = own_state / "rltui" / "notes.json"
        file.write_text("{broken", encoding="utf-8")
        notes._notes.cache_clear()
        await hand.press("colon", *"note anew", "enter")
        assert "the note is not kept" in hand.notices
        assert file.read_text() == "{broken", "what a person may have edited is not lost"


async def test_a_note_that_cannot_be_kept_is_said_so(own_state: Path) -> None:
    own_state.write_text("a file", encoding="utf-8")
    async with open_app(*several()) as hand:
        await hand.press("colon", *"note lost", "enter")
        assert "the note is not kept" in hand.notices


async def test_a_short_list_leaves_room_for_the_run_at_the_cursor_on_a_narrow_screen() -> None:
    async with open_app(*several(), size=(80, 24)) as hand:
        text = "\n".join(hand.lines[7:])
        assert "Do: Lower" in text
        assert "actor/entropy" in text, "the chart"
        assert sum(not line.strip() for line in hand.lines) <= 3
        await hand.press("G")
        assert "Lower the learning rate" not in "\n".join(hand.lines[7:])
        await hand.resize(80, 12)
        assert "Enter opens it" not in hand.text, "no room"


async def test_long_names_leave_a_wide_list_room_for_curve_and_finding() -> None:
    paths = "/".join(f"folder{n}" for n in range(12))
    batches = [
        grpo_batch(60, run=f"{paths}/{n}", collapse=c) for n, c in (("bad", 40), ("ok", None))
    ]
    async with open_app(*batches, size=(160, 45)) as hand:
        row = next(line for line in hand.lines if "/bad " in line)
        assert "▂▆▇" in row
        assert "entropy collapse since 43" in row


async def test_the_worst_finding_stands_in_the_line_of_a_run() -> None:
    async with open_app(*several(), size=(160, 45)) as hand:
        assert any("✖ bad " in x and "entropy collapse" in x for x in hand.lines)
        await hand.resize(80, 24)
        row = next(n for n, line in enumerate(hand.lines) if "✖ bad " in line)
        assert "  entropy collapse  " in hand.lines[row], "in place of its sparkline"
        assert " calm " in hand.lines[row + 1]
        await hand.press("a", *"entropy.min,response_length@20,reward.best", "enter")
        assert "entropy collapse" not in hand.lines[row], "no room"
        await hand.resize(80, 10)
        assert any(x.strip().startswith("bad since 43: entropy") for x in hand.lines), (
            "at the cursor"
        )
        await hand.press("colon", *"columns", "enter")
        await hand.resize(160, 45)
        await hand.press("c")
        row = next(n for n, line in enumerate(hand.lines) if "✖ bad " in line)
        assert "the others are compared with it   bad since 43: entropy" in hand.lines[row + 1]
        assert "entropy" not in hand.lines[row]

"""While hosts and servers are searched for the first time: the app is there, and says so.

The command line: history, completion and search.
"""

from pathlib import Path

import pytest

from rltui.core.address import parse_logdir
from rltui.core.batch import Batch, Note
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.pages.run.screen import RunScreen
from rltui.pages.runs.screen import RunsScreen
from rltui.remote.stream_client import NO_RLTUI
from rltui.tui.command_history import CommandHistory, Completion
from rltui.tui.widgets.status import Prompt
from tests.builders import a_batch
from tests.fakes import grpo_batch
from tests.tables import cases
from tests.tui.hand import Hand, open_app

NODE7, NODE8, BUCKET = map(parse_logdir, ("node7:/runs", "node8:/runs", "s3://bucket/runs"))
LOGDIRS = [NODE7, NODE8, BUCKET]


async def searching(hand: Hand, *searched: Path, connecting: tuple[Path, ...] = ()) -> None:
    """Three seconds after the start."""
    hand.reader.searching, hand.reader.connecting = searched, connecting
    hand.clock.advance(3)
    hand.app.pump.age()
    await hand.settle()


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (40, 12)])
async def test_what_is_waited_for_and_for_how_long(size: tuple[int, int]) -> None:
    async with open_app(logdirs=LOGDIRS, size=size) as hand:
        await searching(hand, NODE7, NODE8, BUCKET, connecting=(NODE7,))
        assert "connecting to node7 for 3 s" in hand.text
        assert "searching node8:/runs for 3 s" in hand.text
        assert "searching s3://bucket/runs for 3 s" in hand.text
        assert "waiting for logs" not in hand.text
        hand.clock.advance(1)
        hand.app.pump.age()
        await hand.settle()
        assert "connecting to node7 for 4 s" in hand.text


async def test_a_cluster_is_called_by_its_address() -> None:
    head, here = map(parse_logdir, ("ray://head:10001/scratch", "ray:///scratch"))
    async with open_app(logdirs=[head, here]) as hand:
        await searching(hand, head, here, connecting=(here,))
        assert "searching the Ray cluster at head:10001 for 3 s" in hand.text
        assert "connecting to the Ray cluster for 3 s" in hand.text


async def test_many_hosts_are_counted() -> None:
    hosts = tuple(parse_logdir(f"node{n}:/runs") for n in range(20))
    async with open_app(logdirs=hosts) as hand:
        await searching(hand, *hosts, connecting=hosts)
        assert hand.text.count("connecting to node") == 7
        assert "and searching 13 others for 3 s" in hand.text


async def test_a_host_that_cannot_be_reached_is_told_in_its_place() -> None:
    async with open_app(logdirs=[NODE7]) as hand:
        await searching(hand, NODE7, connecting=(NODE7,))
        why = "not reachable since 12:00:00: no route to host"
        hand.reader.notes = (Note(NODE7, None, Level.WATCH, why),)
        await searching(hand)
        assert "connecting" not in hand.text
        assert why in hand.text
        assert hand.app.is_running


async def test_a_host_without_rltui_is_told_once() -> None:
    async with open_app(logdirs=[NODE7, NODE8, BUCKET]) as hand:
        await searching(hand, NODE7, NODE8)
        hand.reader.replaced = dict.fromkeys((NODE7, NODE8), NO_RLTUI)
        await searching(hand)
        said = "no rltui there, so whole logs are sent and decoded here, and 1 more alike"
        assert hand.notices == f"node7:/runs: {said}"
        hand.app.clear_notifications()
        await hand.feed(a_batch({"loss": [3.0, 2.0, 1.0]}))
        assert hand.notices == ""


async def test_a_run_does_not_open_by_itself_before_all_hosts_are_searched() -> None:
    async with open_app(logdirs=[NODE7, NODE8]) as hand:
        hand.reader.run_count = 1
        await searching(hand, NODE8, connecting=(NODE8,))
        await hand.feed(a_batch({"loss": [3.0, 2.0, 1.0]}))
        assert isinstance(hand.app.screen, RunsScreen)
        assert "connecting to node8" in hand.text
        await searching(hand)
        assert isinstance(hand.app.screen, RunsScreen), "nor later: the user may be somewhere"
        assert "connecting" not in hand.text


async def test_a_run_does_not_hide_that_another_path_is_missing() -> None:
    async with open_app(logdirs=[NODE7, NODE8]) as hand:
        hand.reader.run_count = 1
        hand.reader.unread = (Note(NODE8, None, Level.WATCH, "no such file or directory"),)
        await hand.feed(a_batch({"loss": [3.0, 2.0, 1.0]}))
        assert isinstance(hand.app.screen, RunsScreen)
        assert "▲ node8:/runs: no such file or directory" in hand.text


async def test_a_run_that_is_alone_still_opens_by_itself() -> None:
    async with open_app(logdirs=[NODE7]) as hand:
        await searching(hand, NODE7)
        hand.reader.searching, hand.reader.run_count = (), 1
        await hand.feed(a_batch({"loss": [3.0, 2.0, 1.0]}))
        assert isinstance(hand.app.screen, RunScreen)


async def test_the_user_may_leave_meanwhile() -> None:
    async with open_app(logdirs=[NODE7]) as hand:
        await searching(hand, NODE7, connecting=(NODE7,))
        await hand.press("q")
    assert hand.app.return_code == 0
    assert hand.app.failure is None
    assert not hand.reader.running


async def test_the_app_ends_where_nothing_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_app(logdirs=[NODE7]) as hand:
        await searching(hand, NODE7)
        failure = SourceError("node7:/runs: no such file or directory")

        def drain(_: int) -> list[Batch]:
            raise failure

        monkeypatch.setattr(hand.reader, "drain", drain)
        hand.app.pump.pull()
        await hand.settle()
    assert hand.app.failure is failure
    assert not hand.reader.running


NAMES = ["at ", "goto ", "now", "tab ", "theme ", "tab actor", "tab actions", "tab all"]


class TestCompletion:
    @cases(__file__, "tab_by_tab")
    def test_tab_by_tab(self, text: str, expected: list[str]) -> None:
        completion = Completion()
        for wanted in expected:
            text = completion.complete(text, NAMES)
            assert text == wanted


class TestHistory:
    def test_up_and_down_and_back_to_what_was_typed(self) -> None:
        history = CommandHistory()
        for text in ("one", "two", "", "  "):
            history.add(text)
        history.begin()
        assert history.move(-1, "typed") == "two"
        assert history.move(-1, "two") == "one"
        assert history.move(-1, "one") is None
        assert history.move(1, "one") == "two"
        assert history.move(1, "two") == "typed"
        assert history.move(1, "typed") is None

    def test_the_history_of_prompts_outlives_the_app_without_doubles(self, tmp_path: Path) -> None:
        environ = {"XDG_STATE_HOME": str(tmp_path)}
        for text in ("goto 1", "tab actor", "goto 1", "x\x1b[31m"):
            CommandHistory.of_user(environ).add(text)
        found = CommandHistory.of_user(environ).entries
        assert found[:2] == ["tab actor", "goto 1"]
        assert "\x1b" not in "".join(found)

    def test_the_history_of_prompts_does_not_grow_without_end(self, tmp_path: Path) -> None:
        history = CommandHistory(tmp_path / "history")
        for i in range(500):
            history.add(f"goto {i}")
        assert len(CommandHistory(tmp_path / "history").entries) == 200

    @pytest.mark.parametrize("content", [b"\xff\xfe\n\x00a\n", b"", b"x" * 300_000])
    def test_a_broken_file_is_no_trouble(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "history").write_bytes(content)
        assert all(x.isprintable() for x in CommandHistory(tmp_path / "history").entries)


def typed(hand: Hand) -> str:
    return hand.app.screen.query_one(Prompt).value


async def test_on_the_screen() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("colon", *"ta", "tab")
        assert typed(hand) == "tab "
        await hand.press(*"ti", "tab")
        assert typed(hand) == "tab timing"
        await hand.press("enter")
        assert hand.run.tab == "timing"
        await hand.press("colon", *"goto 20", "enter", "colon", "up", "up")
        assert typed(hand) == "tab timing"
        await hand.press("down", "down")
        assert typed(hand) == ""
        await hand.press(*"tab t")
        assert hand.footer.split() == [":tab", "t", "timing"]
        await hand.press("escape", "colon", *"theme li", "tab", "enter")
        assert hand.app.theme == "light"


async def test_a_filter_leaves_tab_up_and_down_alone() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("3")
        first = hand.cursor
        await hand.press("slash", "down")
        assert hand.cursor != first


async def test_offers_that_do_not_fit_end_in_an_ellipsis() -> None:
    async with open_app(grpo_batch(20), size=(60, 24)) as hand:
        await hand.press("colon", *"theme ")
        assert hand.footer.rstrip().endswith("…")

"""w: the screen and its data in a file."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from textual.content import Content

from rltui.tui.widgets.status import Prompt
from rltui.tui.writing import default_name
from tests.builders import a_batch, steps
from tests.fakes import grpo_batch
from tests.tables import cases
from tests.tui.hand import Hand, a_look, open_app

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def write(hand: Hand, name: str, command: str = "w") -> None:
    await hand.press("colon", *f"{command} {name}", "enter")
    await hand.settle()


def texts(path: Path) -> list[str]:
    return [t.text or "" for t in ET.parse(path).getroot().iter(f"{SVG}text")]


async def test_a_picture_shows_what_the_screen_shows(here: Path) -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("3")
        screen = hand.lines
        await write(hand, "a.svg")
        assert f"wrote {here / 'a.svg'}" in hand.notices
        shown = " ".join(texts(here / "a.svg"))
        assert all(word in shown for word in screen[0].split())
        assert ":w" not in shown
        fills = {r.get("fill") for r in ET.parse(here / "a.svg").getroot().iter(f"{SVG}rect")}
        assert len(fills) > 2


async def test_text_is_the_screen(here: Path) -> None:
    async with open_app(grpo_batch(60)) as hand:
        screen = [x.rstrip() for x in hand.lines]
        await write(hand, "a.txt")
        assert (here / "a.txt").read_text().splitlines() == screen


async def test_csv_is_the_data_of_the_chart(here: Path) -> None:
    async with open_app(a_batch(steps(1, {"loss": [3.0, float("nan"), 1.0]}))) as hand:
        await write(hand, "a.csv")
        rows = (here / "a.csv").read_text().splitlines()
        assert rows[0] == "run,tag,step,wall_time,value,superseded"
        assert [r.split(",")[1:3] + r.split(",")[4:5] for r in rows[1:]] == [
            ["loss", "1", "3.0"], ["loss", "2", "nan"], ["loss", "3", "1.0"],
        ]  # fmt: skip
        await hand.press("9")
        await write(hand, "b.csv")
        assert "no chart here" in hand.notices
        assert not (here / "b.csv").exists()


async def test_a_report_is_about_the_run_on_the_screen_or_about_all(here: Path) -> None:
    two = (grpo_batch(60, collapse=30, run="sick"), grpo_batch(60, run="well"))
    async with open_app(*two) as hand:
        await write(hand, "all.md")
        await hand.press("enter")
        await write(hand, "one.md")
        await write(hand, "one.html")
    everything, one = (here / "all.md").read_text(), (here / "one.md").read_text()
    assert "sick" in everything
    assert "well" in everything
    assert ("sick" in one) != ("well" in one)
    page = (here / "one.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page


async def test_the_key_asks_with_a_name(here: Path) -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("3", "g", "enter", "w")
        prompt = hand.app.screen.query_one(Prompt)
        assert prompt.value == "w grpo-policy-loss.svg"
        assert "picture  Tab: text, data, report, Markdown" in hand.lines[-1]
        await hand.press("enter")
        await hand.settle()
        assert "policy loss" in " ".join(texts(here / "grpo-policy-loss.svg"))
        await hand.press("w", "tab", "tab")
        assert prompt.value == "w grpo-policy-loss.csv"
        assert "data  Tab: picture" in hand.lines[-1]
        await hand.press("tab", "tab", "tab")
        assert prompt.value == "w grpo-policy-loss.svg"


@cases(__file__, "each_screen_offers_what_it_has")
@pytest.mark.usefixtures("here")
async def test_each_screen_offers_what_it_has(keys: tuple[str, ...], said: str) -> None:
    async with open_app(grpo_batch(60), grpo_batch(60, run="b")) as hand:
        await hand.press("enter", *keys, "w")
        assert said in hand.lines[-1]


async def test_in_a_log_directory_the_key_names_a_file_at_home(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = here / "home"
    (here / "logs").mkdir()
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here / "logs")
    async with open_app(grpo_batch(60), logdirs=[here / "logs"]) as hand:
        await hand.press("w", "enter")
        await hand.settle()
        assert [p.suffix for p in home.iterdir()] == [".svg"]
        assert not list((here / "logs").iterdir())


async def test_what_is_there_is_kept_unless_the_user_insists(here: Path) -> None:
    async with open_app(grpo_batch(60)) as hand:
        (here / "a.txt").write_text("mine")
        await write(hand, "a.txt")
        assert "exists" in hand.notices
        assert (here / "a.txt").read_text() == "mine"
        await write(hand, "a.txt", "w!")
        assert (here / "a.txt").read_text() != "mine"


async def test_nothing_is_written_into_a_log_directory(here: Path) -> None:
    logs = here / "logs"
    (logs / "sub").mkdir(parents=True)
    (here / "link").symlink_to(logs)
    async with open_app(grpo_batch(60), logdirs=[logs]) as hand:
        for name in ("logs/a.svg", "logs/sub/../a.svg", "link/a.csv"):
            hand.app.clear_notifications()
            await write(hand, name)
            assert "never writes" in hand.notices
            assert [p.name for p in logs.iterdir()] == ["sub"]


async def test_what_was_written_can_be_opened(here: Path) -> None:
    async with open_app(grpo_batch(60), look=a_look(links=True)) as hand:
        for name, quoted in (("a[b] c", "a%5Bb%5D%20c"), ("[$x]y[[", "%5B%24x%5Dy%5B%5B")):
            hand.app.clear_notifications()
            await write(hand, f"{name}.txt")
            notice = Content.from_markup(hand.notices)
            assert notice.plain == f"wrote {here}/{name}.txt"
            assert f"{here}/{quoted}.txt" in str(notice.spans[0].style)
        hand.app.clear_notifications()
        await write(hand, "a\\[b].txt")
        assert hand.notices == f"wrote {here}/a\\[b].txt"


async def test_a_bad_name_is_a_notice(here: Path) -> None:
    async with open_app(grpo_batch(60)) as hand:
        for name in ("", "a.png", "nowhere/a.svg", "a"):
            hand.app.clear_notifications()
            await write(hand, name)
            assert hand.notices, name
            assert not list(here.iterdir())


def test_default_names_need_no_quoting() -> None:
    assert (
        default_name(["tiny verl/grpo (2)", "KL, old vs new"])
        == "tiny-verl-grpo-2-KL-old-vs-new.svg"
    )
    assert default_name(["../../etc", "x\x1b[31m"]) == "etc-x-31m.svg"
    assert default_name(["訓練", "損失"]) == "rltui.svg"

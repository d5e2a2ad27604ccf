"""Columns of a table of metrics: names get what other columns leave blank; devices.

The metric screen: crosshair, zoom, options of the chart.
"""

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.metrics import TagRow, tab_sections
from rltui.pages.run.metric_table import (
    columns_for,
    columns_of,
    list_head,
    row_entries,
    row_names,
    section_entries,
    short_titles,
)
from rltui.session import JudgedRun
from tests.builders import a_batch, a_block, steps
from tests.fakes import a_session, grpo_batch, grpo_tags
from tests.tables import table
from tests.tui.hand import open_app

VALUES = [
    f"val-aux/math_dapo/reward/{stat}" for stat in ("best@2/mean", "worst@4/std", "maj@2/mean")
]
VALUES += [f"val-aux/gsm8k/reward/{stat}" for stat in ("best@2/mean", "worst@4/std", "maj@2/mean")]


def validation() -> tuple[JudgedRun, list[TagRow]]:
    tags = grpo_tags(20) | {tag: [0.1 * x for x in range(20)] for tag in VALUES}
    (run,) = a_session(a_batch(steps(1, tags))).runs()
    return run, [r for s in tab_sections(run, "validation") for r in s.rows]


def test_a_training_metric_has_its_held_out_value_beside_its_own_where_there_is_room() -> None:
    (run,) = a_session(a_batch({"train/loss": [0.5, 0.42], "eval/loss": [0.7, 0.61]})).runs()
    rows = [r for s in tab_sections(run, "all") for r in s.rows]
    for width, shown in ((110, True), (40, False)):
        shown_rows = row_entries(run, rows, columns_of(rows, width), View(), 0)
        said = {r.tag: plain(e.draw(False)[0]) for r, e in zip(rows, shown_rows, strict=True)}
        assert ("eval 0.61" in said["train/loss"]) == shown


def test_a_title_does_without_the_unit_that_stands_beside_it() -> None:
    titles = ("reward best@2, std", "reward maj@2", "reward", "tokens")
    units = ("best@2", "maj@2", "mean@4", "tok")
    assert short_titles(titles, units) == ("reward, std", "reward", "reward", "tokens")
    assert short_titles(("score x", "score"), ("x", "x")) == ("score x", "score")


def test_names_take_what_the_other_columns_leave_blank() -> None:
    _, rows = validation()
    usual, columns = columns_for(92), columns_of(rows, 92)
    assert columns.width == usual.width == 92
    assert columns["name"] > usual["name"]
    assert columns["spark"] >= 16
    names = row_names(rows, columns)
    assert not [n for n in names if "…" in n]
    assert len({(n, r.info.unit) for n, r in zip(names, rows, strict=True)}) == len(rows)


def test_what_never_was_anything_but_zero_is_not_measured() -> None:
    tags = grpo_tags(20) | {"perf/mfu/actor_infer": [0.0] * 20, "team/std": [0.0] * 20}
    tags["perf/mfu/actor"] = [0.3] * 19 + [0.0]
    (run,) = a_session(a_batch(steps(1, tags))).runs()
    rows = [r for s in tab_sections(run, "all") for r in s.rows]
    shown = row_entries(run, rows, columns_for(92), View(), 0)
    said = {r.tag: plain(e.draw(False)[0]) for r, e in zip(rows, shown, strict=True)}
    assert said["perf/mfu/actor_infer"].rstrip().endswith("  always 0: not measured")
    assert "always 0" not in said["perf/mfu/actor"] + said["team/std"]


def test_a_marked_row_keeps_a_blank_before_its_name() -> None:
    run, rows = validation()
    columns, view = columns_for(67), View(shared=(rows[0].tag,))
    marked, plain_row = (
        plain(row_entries(run, rows, columns, v, 0)[0].draw(False)[0]) for v in (view, View())
    )
    assert marked[1:3] == "1 "
    assert marked[0] == plain_row[0]
    value = columns.start("value")
    assert marked[value:] == plain_row[value:]


WANDB = {tag: tuple(said) for tag, said in table(__file__)["wandb"].items()}
TRACKIO = {tag: tuple(said) for tag, said in table(__file__)["trackio"].items()}


def the_run(*tags: str) -> JudgedRun:
    values = {tag: [float(i) for i in range(12)] for tag in (*tags, "train/loss")}
    return a_session(a_batch(a_block(values))).runs()[0]


def test_each_device_has_a_section() -> None:
    titles = [s.title for s in tab_sections(the_run(*WANDB), "all")][1:]
    assert titles == ["GPU 0", "GPU 1", "Host", "Process", "Disk", "Network"]
    titles = [s.title for s in tab_sections(the_run(*TRACKIO), "all")][1:]
    assert titles == ["GPU", "GPU 0", "GPU 0 rank 1"]
    titles = [s.title for s in tab_sections(the_run("system/queue_size"), "all")][1:]
    assert titles == ["System"]


def test_sections_stand_in_the_list_and_the_head_is_that_of_the_first_visible_row() -> None:
    run, view, columns = the_run(*WANDB), View(), columns_for(92)
    sections = tab_sections(run, "all")[1:]
    entries = section_entries(run, sections, columns, view, 2)
    lines = [plain(x) for e in entries for x in e.draw(False)]
    assert [e.id for e in entries if e.id is not None] == [r.tag for s in sections for r in s.rows]
    assert any(x.strip().startswith("GPU 1 ─") for x in lines)
    assert not any(x.strip().startswith("GPU 0 ─") for x in lines)
    assert plain(list_head(run, sections, columns, view, (0, 11))).startswith("GPU 0 ─")
    assert plain(list_head(run, sections, columns, view, (5, 9))).startswith("GPU 1 6–9 of 11")


def test_a_filter_leaves_sections_with_rows() -> None:
    assert [s.title for s in tab_sections(the_run(*WANDB), "all", "power")] == ["GPU 0"]


async def test_the_crosshair_and_the_zoom() -> None:
    async with open_app(grpo_batch(60, total=200)) as hand:
        await hand.press("3", "g", "enter", "h")
        assert hand.metric.zoom.crosshair == 60
        await hand.press("left", "left", "l")
        assert hand.metric.zoom.crosshair == 59
        await hand.press("g")
        assert hand.metric.zoom.crosshair == 1
        await hand.press("G", "plus", "plus")
        window = hand.metric.zoom.window
        assert window[1] - window[0] <= 30
        await hand.press("colon", *"zoom", "enter", "plus")
        assert hand.metric.zoom.window == (30.5, 60), "without a crosshair the newest rows"
        await hand.press("minus")
        assert hand.metric.zoom.window is not None
        await hand.press("equals_sign")
        assert hand.metric.zoom.window is None
        assert "step 60" in hand.text


async def test_two_steps_are_shown_exactly() -> None:
    async with open_app(grpo_batch(200)) as hand:
        await hand.press("3", "down", "colon", *"zoom 100 150 log", "enter")
        assert (hand.metric.zoom.window, hand.app.view.log_y) == ((100, 150), True)
        for wrong in ("150 100", "100 999", "0 50", "100", "a b", "9 9"):
            hand.app.clear_notifications()
            await hand.press("colon", *f"zoom {wrong}", "enter")
            assert "two steps of 1 to 200, the lower one first" in hand.notices, wrong
        assert hand.metric.zoom.window == (100, 150)
        await hand.press("colon", *"zoom", "enter")
        assert hand.metric.zoom.window is None


async def test_a_drag_over_the_chart_shows_its_steps() -> None:
    async with open_app(grpo_batch(200)) as hand:
        await hand.press("3", "enter")
        for begin, end in ((40, 90), (70, 50)):
            columns = []
            for step in (begin, end):
                await hand.press("colon", *f"at {step}", "enter")
                columns.append(next(x.index("┴") for x in hand.lines if "┴" in x))
            left, right = columns
            await hand.pilot.mouse_down(offset=(left, 12))
            await hand.pilot.mouse_up(offset=(right, 9))
            await hand.settle()
            window = hand.metric.zoom.window
            assert window[0] <= min(begin, end) < max(begin, end) <= window[1]
            assert window[1] - window[0] < abs(begin - end) + 9
            await hand.pilot.click(offset=(left, 12))
            await hand.settle()
            assert hand.metric.zoom.window == window, "a click is no drag"


async def test_the_verdict_and_the_keys_of_the_footer_can_be_clicked() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.pilot.click(offset=(117, 0))
        await hand.settle()
        assert hand.run.tab == "findings"
        await hand.press("3", "enter")
        for word, by in (("← →", 0), ("crosshair", 0), ("← →", 2)):
            await hand.pilot.click(offset=(hand.footer.index(word) + by, 35))
            await hand.settle()
        assert hand.metric.zoom.crosshair == 60
        await hand.pilot.click(offset=(hand.footer.index("explain"), 35))
        await hand.settle()
        assert "logged in" in hand.text


async def test_n_leads_through_what_the_filter_leaves() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("3", "n")
        assert hand.notices.endswith("notes are now :note TEXT")
        await hand.press("slash", *"clip", "enter", "g")
        seen = [hand.cursor]
        for _ in hand.ids:
            await hand.press("n")
            seen.append(hand.cursor)
        assert seen == [*hand.ids, hand.ids[0]]


NEAREST = {"0": 2, "2": 2, "4": 2, "5": 6, "7": 6, "1,000": 9, "9" * 30: 9, "-3": 2}


async def test_at_goes_to_the_nearest_logged_step() -> None:
    logged = a_block({"loss": [1.0, 2.0, 3.0, 4.0]}, steps=[2, 6, 6, 9])
    async with open_app(a_batch(logged)) as hand:
        await hand.press("0", "enter")
        for wanted, nearest in NEAREST.items():
            hand.app.clear_notifications()
            await hand.press("colon", *f"at {wanted}", "enter")
            assert hand.metric.zoom.crosshair == nearest
            exact = wanted == str(nearest)
            assert hand.notices == ("" if exact else f"nearest logged step: {nearest}")


async def test_a_key_of_another_screen_leaves() -> None:
    async with open_app(grpo_batch(60), grpo_batch(9, run="b")) as hand:
        await hand.press("enter", "3", "enter", "6")
        assert hand.run.tab == "timing"
        await hand.press("enter", "exclamation_mark")
        assert hand.run.tab == "findings"
        await hand.press("enter", "right_square_bracket")
        assert hand.run.tab == "all"
        await hand.press("enter", "r")
        assert hand.runs.is_current

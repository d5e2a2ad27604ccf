"""GPUs and nodes beside each other: which of them is named as the odd one, and which never is."""

import numpy as np

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.devices import Devices, devices_of
from rltui.facts.metrics import overview_sections, tab_sections
from rltui.pages.run.devices import device_lines
from rltui.pages.run.metric_table import columns_for, row_line
from rltui.pages.run.metrics_pane import tab_of_devices
from rltui.session import JudgedRun
from tests.builders import START, a_batch, a_block, steps
from tests.fakes import a_session, grpo_tags

ROWS = 40


def a_run(use: list[float], temperature: list[float] | None = None, **others: float) -> JudgedRun:
    """GPUs of trackio with these medians, a little noise, and other tags."""
    noise = np.random.default_rng(1).normal(0, 0.3, (len(use), ROWS))
    tags: dict[str, list[float]] = dict(grpo_tags(ROWS))
    for n, level in enumerate(use):
        tags[f"system/gpu/{n}/utilization"] = (level + noise[n]).tolist()
    for n, level in enumerate(temperature or ()):
        tags[f"system/gpu/{n}/temp"] = (level + noise[n]).tolist()
    tags |= {tag: [value] * ROWS for tag, value in others.items()}
    return a_session(a_batch(steps(1, tags))).runs()[0]


def gpus(run: JudgedRun) -> Devices:
    return next(iter(devices_of(run)))


def test_the_odd_one_is_named_with_the_median_of_the_others() -> None:
    found = gpus(a_run([97, 98, 97, 96, 35, 97, 98, 97], [60, 61, 60, 62, 84, 61, 60, 61]))
    assert [d.name for d in found.devices if d.odd] == ["GPU 4"]
    assert found.words == "GPU 4: use 35 %, the others 97 %; temp. 84 °C, the others 60.9 °C"


def test_usual_differences_two_kinds_and_few_devices_are_not_odd() -> None:
    assert not gpus(a_run([97, 98, 97, 92, 97, 98, 97, 98])).words, "too little to act on"
    assert not gpus(a_run([97, 30, 97, 30, 97, 30, 97, 30])).words, "trainers and samplers"
    assert not gpus(a_run([97, 98, 97, 30])).words, "too few to know what is usual"
    assert not gpus(a_run([97, 80, 60, 40, 20, 70, 50, 30])).words, "spread out"
    assert not devices_of(a_run([97]))
    assert not devices_of(a_run([]))


def test_a_device_that_is_silent_is_named() -> None:
    tags = {f"system/gpu/{n}/utilization": [90.0] * ROWS for n in range(5)}
    tags["system/gpu/5/utilization"] = [90.0] * 10
    walls = (START + 10.0 * np.arange(ROWS)).tolist()
    batch = a_batch(a_block(tags, walls=walls))
    found = gpus(a_session(batch).runs()[0])
    assert found.words == "GPU 5: silent for 5m00s"
    assert [d.is_silent for d in found.devices] == [False] * 5 + [True]


def test_figures_in_another_unit_are_left_out() -> None:
    watts = {f"system/gpu/{n}/power_percent": 80.0 for n in range(2)}
    assert ("power", "W") not in gpus(a_run([90, 90], **watts)).heads


def test_the_overview_shows_one_card_for_all() -> None:
    memory = {f"system/gpu/{n}/allocated_memory": 70.0 for n in range(8)}
    rows = [r.tag for s in overview_sections(a_run([90] * 8, **memory)) for r in s.rows]
    assert sum("allocated_memory" in tag for tag in rows) == 1


def test_lines_stay_within_their_room_and_keep_the_odd_one() -> None:
    run = a_run([97.0] * 30 + [20.0])
    assert tab_of_devices(run) == "perf"
    for width in (20, 44, 78, 92, 200):
        for height in (5, 12, 21, 33, 47, 117):
            lines = [plain(x) for x in device_lines(run, View(), width, height)]
            assert len(lines) <= 0.4 * height
            assert all(len(x) <= width for x in lines)
            assert not lines or sum("GPU 30" in x for x in lines) >= 1
    text = "\n".join(plain(x) for x in device_lines(run, View(), 78, 21))
    assert "△ GPU 30: use 19.9 %, the others 97 %" in text
    assert "more, like the others" in text


def test_ten_gpus_and_more_are_in_the_order_of_their_numbers_with_the_unit_at_the_value() -> None:
    tags = {f"system/gpu.{n}.memoryAllocatedBytes": [57.8e9] * ROWS for n in range(12)}
    run = a_session(a_batch(steps(1, tags))).runs()[0]
    rows = [r for s in tab_sections(run, "perf") for r in s.rows if "memory" in r.title]
    assert [r.title for r in rows] == [f"GPU {n} memory" for n in range(12)]
    line = plain(row_line(run, rows[0], columns_for(100), View(), cursor=False))
    assert line.split()[:6] == ["·", "GPU", "0", "memory", "57.8", "GB"]

"""System metrics of W&B, MLflow and trackio: one section per device, real titles and units."""

from __future__ import annotations

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.metrics import tab_sections
from rltui.pages.run.metric_table import columns_for, list_head, section_entries
from rltui.session import RunView
from tests.builders import a_batch, a_block
from tests.fakes import a_session

WANDB = {
    "system/gpu.0.gpu": ("GPU 0 use", "%"),
    "system/gpu.0.memoryAllocatedBytes": ("GPU 0 memory", "B"),
    "system/gpu.0.memoryAllocated": ("GPU 0 memory, %", "%"),
    "system/gpu.0.powerWatts": ("GPU 0 power", "W"),
    "system/gpu.0.temp": ("GPU 0 temperature", "°C"),
    "system/gpu.1.gpu": ("GPU 1 use", "%"),
    "system/memory_percent": ("memory use", "%"),
    "system/disk./.usagePercent": ("disk / used, %", "%"),
    "system/disk.vda.in": ("disk vda read", "MB"),
    "system/network.sent": ("network sent", "B"),
    "system/proc.memory.rssMB": ("process memory", "MB"),
}
TRACKIO = {
    "system/gpu/0/utilization": ("GPU 0 use", "%"),
    "system/gpu/0/allocated_memory": ("GPU 0 memory", "GiB"),
    "system/gpu/0/power": ("GPU 0 power", "W"),
    "system/gpu/0/temp": ("GPU 0 temperature", "°C"),
    "system/gpu/mean_utilization": ("GPU use, mean", "%"),
    "system/rank1/gpu/0/utilization": ("GPU 0 r1 use", "%"),
}


def the_run(*tags: str) -> RunView:
    values = {tag: [float(i) for i in range(12)] for tag in (*tags, "train/loss")}
    return a_session(a_batch(a_block(values))).runs()[0]


def test_each_device_has_a_section() -> None:
    titles = [s.title for s in tab_sections(the_run(*WANDB), "system")]
    assert titles == ["GPU 0", "GPU 1", "Host", "Process", "Disk", "Network"]
    titles = [s.title for s in tab_sections(the_run(*TRACKIO), "system")]
    assert titles == ["GPU", "GPU 0", "GPU 0 rank 1"]
    titles = [s.title for s in tab_sections(the_run("system/queue_size"), "system")]
    assert titles == ["System"]


def test_sections_stand_in_the_list_and_the_head_is_that_of_the_first_visible_row() -> None:
    run, view, columns = the_run(*WANDB), View(), columns_for(92)
    sections = tab_sections(run, "system")
    entries = section_entries(run, sections, columns, view, 2)
    lines = [plain(x) for e in entries for x in e.draw(False)]
    assert [e.id for e in entries if e.id is not None] == [r.tag for s in sections for r in s.rows]
    assert any(x.strip().startswith("GPU 1 ─") for x in lines)
    assert not any(x.strip().startswith("GPU 0 ─") for x in lines)
    assert plain(list_head(run, sections, columns, view, (0, 11))).startswith("GPU 0 ─")
    assert plain(list_head(run, sections, columns, view, (5, 9))).startswith("GPU 1 6–9 of 11")


def test_a_filter_leaves_sections_with_rows() -> None:
    assert [s.title for s in tab_sections(the_run(*WANDB), "system", "power")] == ["GPU 0"]

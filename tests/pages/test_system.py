"""System metrics of W&B, MLflow and trackio: one section per device, real titles and units."""

from __future__ import annotations

from rltui.catalogue.model import Category
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
MLFLOW = {
    "system/gpu_0_utilization_percentage": ("GPU 0 use", "%"),
    "system/gpu_0_memory_usage_megabytes": ("GPU 0 memory", "MB"),
    "system/gpu_0_power_usage_watts": ("GPU 0 power", "W"),
    "system/cpu_utilization_percentage": ("CPU use", "%"),
    "system/system_memory_usage_megabytes": ("host memory", "MB"),
    "system/disk_usage_percentage": ("disk used, %", "%"),
    "system/network_receive_megabytes": ("network received", "MB"),
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


def test_titles_and_units_are_those_of_the_tracker() -> None:
    for known in (WANDB, MLFLOW, TRACKIO):
        run = the_run(*known)
        found = {t: (run.infos[t].title, run.infos[t].unit) for t in known}
        assert found == known
        assert all(run.infos[t].category is Category.SYSTEM for t in known)


def test_each_device_has_a_section() -> None:
    titles = [s.title for s in tab_sections(the_run(*WANDB), "system")]
    assert titles == ["GPU 0", "GPU 1", "Host", "Process", "Disk", "Network"]
    titles = [s.title for s in tab_sections(the_run(*TRACKIO), "system")]
    assert titles == ["GPU", "GPU 0", "GPU 0 rank 1"]
    titles = [s.title for s in tab_sections(the_run("system/queue_size"), "system")]
    assert titles == ["System"]


def test_use_comes_first_and_memory_before_power() -> None:
    section = tab_sections(the_run(*TRACKIO), "system")[1]
    assert [r.title for r in section.rows] == [
        "GPU 0 use", "GPU 0 memory", "GPU 0 power", "GPU 0 temperature",
    ]  # fmt: skip


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

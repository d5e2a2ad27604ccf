"""Every dialect knows the tags that its framework typically writes, and no other claims them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rltui.catalogue import Catalogue, Category
from tests.catalogue.test_framework_names import LISTS, read

CASES = yaml.safe_load((Path(__file__).parent / "typical.yaml").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['framework']}-{c['algorithm']}")
def test_typical(case: dict[str, Any], catalogue: Catalogue) -> None:
    framework, algorithm, scenario = case["framework"], case["algorithm"], case["scenario"]
    tags: dict[str, str] = case["tags"]
    found = catalogue.recognise(tags)
    assert (found.framework, found.algorithm, found.scenario.id) == (framework, algorithm, scenario)
    resolver = catalogue.resolver(framework, algorithm)
    meant = {tag: getattr(resolver.resolve(tag).metric, "key", None) for tag in tags}
    assert meant == tags


def test_every_dialect_is_typical_of_something(catalogue: Catalogue) -> None:
    elsewhere = {
        "generic", "cleanrl", "llama-factory", "ms-swift", "openrlhf", "rllib", "tinyzero",
        "transformers", "trl", "trl-ppo-classic",
    }  # fmt: skip
    tried = {case["framework"] for case in CASES} | {read(path).framework for path in LISTS}
    assert tried | elsewhere == set(catalogue.dialects), (
        "each needs a case in tests/catalogue/typical.yaml"
    )


@pytest.mark.parametrize(
    ("framework", "algorithm", "tag", "scale"),
    [
        ("prime-rl", None, "perf/mfu", 0.01),
        ("open-instruct", "GRPO", "learner_mfu", 0.01),
        ("prime-rl", None, "perf/peak_memory", 1.073741824),
        ("torchtune", "SFT", "peak_memory_active", 1.073741824),
        ("nemo-rl", "GRPO", "performance/train_fp_utilization", 1.0),
    ],
)
def test_unit(
    framework: str, algorithm: str | None, tag: str, scale: float, catalogue: Catalogue
) -> None:
    assert catalogue.resolver(framework, algorithm).resolve(tag).scale == pytest.approx(scale)


def test_the_sign_of_the_kl_depends_on_the_loop(catalogue: Catalogue) -> None:
    assert catalogue.resolver("minimind", "GRPO").resolve("kl_ref").sign == -1
    assert catalogue.resolver("minimind", "PPO").resolve("kl_ref").sign == 1


@pytest.mark.parametrize("tag", ["system/cpu", "system/gpu.0.memory", "system/proc.memory.rssMB"])
def test_figures_of_trackers_are_system(tag: str, catalogue: Catalogue) -> None:
    for framework in catalogue.dialects:
        assert catalogue.resolver(framework).resolve(tag).category is Category.SYSTEM, framework


@pytest.mark.parametrize(
    ("tag", "key", "unit"),
    [
        ("system/cpu/utilization", "system.cpu", "%"),
        ("system/cpu/1/utilization", "system.host_other", "%"),
        ("system/memory/percent", "system.ram", "%"),
        ("system/memory/used", "memory.host", "GiB"),
        ("system/disk/read_mb_per_sec", "system.disk_io", "MiB/s"),
        ("system/network/sent_bytes", "system.network", "B"),
        ("system/temp/coretemp_0", "system.host_other", "°C"),
    ],
)
def test_host_figures_of_trackio(tag: str, key: str, unit: str, catalogue: Catalogue) -> None:
    info = catalogue.resolver("trl").resolve(tag)
    assert (info.metric.key, info.unit) == (key, unit)


def test_step_keys(catalogue: Catalogue) -> None:
    keys = catalogue.step_keys()
    assert keys[:3] == ("step", "global_step", "_step")
    assert len(set(keys)) == len(keys)
    assert {"current_steps", "global_step/max_steps", "time/total_timesteps"} <= set(keys)

"""Every dialect knows the tags that its framework typically writes, and no other claims them."""

from typing import Any

import pytest

from rltui.catalogue import Catalogue, Category
from tests.catalogue.test_framework_names import LISTS, read
from tests.tables import cases, table

CASES = table(__file__)["cases"]


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


@cases(__file__, "units")
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


@cases(__file__, "host_figures_of_trackio")
def test_host_figures_of_trackio(tag: str, key: str, unit: str, catalogue: Catalogue) -> None:
    info = catalogue.resolver("trl").resolve(tag)
    assert (info.metric.key, info.unit) == (key, unit)


def test_step_keys(catalogue: Catalogue) -> None:
    keys = catalogue.step_keys()
    assert keys[:3] == ("step", "global_step", "_step")
    assert len(set(keys)) == len(keys)
    assert {"current_steps", "global_step/max_steps", "time/total_timesteps"} <= set(keys)

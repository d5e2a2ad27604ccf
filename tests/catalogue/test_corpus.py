"""Recognition on logs that real frameworks wrote (skipped where they are absent)."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError

from rltui.catalogue import Catalogue
from tests.event_files import events
from tests.ids import path_id
from tests.places import DEV

FRAMEWORKS = {
    "sb3": "sb3",
    "cleanrl": "cleanrl",
    "trl": "trl",
    "trl_old_ppo": "trl-ppo-classic",
    "verl": "verl",
    "rllib": "rllib",
    "writers": "generic",
}
ALGORITHMS = ("grpo", "dpo", "kto", "reward", "sft", "ppo", "dqn", "sac")
#: RLOO writes exactly the tags of GRPO: names do not distinguish them.
NAMED = {"reward": "RM"}


def _logs() -> list[Path]:
    if not DEV.is_dir():
        return []
    found = [*DEV.rglob("*tfevents*"), *DEV.rglob("*.jsonl"), *DEV.rglob("trainer_state.json")]
    return sorted(p for p in found if p.relative_to(DEV).parts[0] in FRAMEWORKS)


def _tags(path: Path) -> set[str]:
    if path.name == "trainer_state.json":
        return {k for row in json.loads(path.read_text())["log_history"] for k in row}
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return {k for row in rows for k in row.get("data", row)}
    tags: set[str] = set()
    with suppress(DecodeError):  # some are damaged on purpose
        for event in events(path.read_bytes()):
            tags.update(v.tag for v in event.summary.value)
    return {t for t in tags if not t.startswith("_hparams_/")}


@pytest.mark.skipif(not DEV.is_dir(), reason=f"no corpus at {DEV}")
@pytest.mark.parametrize("path", _logs(), ids=lambda p: path_id(p.relative_to(DEV)))
def test_log(path: Path, catalogue: Catalogue) -> None:
    tags = _tags(path)
    if not tags:
        pytest.skip("no scalar tag in this file")
    top, name = path.relative_to(DEV).parts[:2]
    found = catalogue.recognise(tags)
    assert found.framework == FRAMEWORKS[top]
    kind = next(
        (a for a in ALGORITHMS if name.startswith(a) or "__" + a + "__" in path.parts[-2]), None
    )
    if kind is not None and top != "writers":
        assert found.algorithm == NAMED.get(kind, kind.upper())
    resolver = catalogue.resolver(found.framework, found.algorithm)
    unknown = [t for t in tags if resolver.resolve(t).metric is None]
    if top not in ("writers", "rllib"):
        assert unknown == []

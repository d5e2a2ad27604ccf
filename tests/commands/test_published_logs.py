"""Published logs of many frameworks are read right: points, first and last step and value of tags,
against an independent parse.

Skips where the corpora are not beside the repository.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands.conftest import Cli
from tests.places import CORPORA

LOGS = CORPORA / "public2"

pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason=f"no corpora at {LOGS}")

#: What a label describes in words, and the tag that rltui gives it.
SPELT = {"rR (first of four)": "rreturn_mean"}
#: Everything below the directory, for a label about several files.
WHOLE = "(all six)"
#: Labels that describe a log as a whole, or what is the step here.
NO_TAG = ("(none)", "(all)", "_step")

Points = dict[str, list[tuple[int, float]]]


def _labelled() -> Iterator[Any]:
    labels = LOGS / "labels.yaml"
    if not labels.is_file():
        return
    for label in yaml.safe_load(labels.read_text("utf-8")):
        for read in label.get("read", []):
            name = f"{label['path']}-{Path(read['file']).name}"
            yield pytest.param(label["path"], read, id=name[:40])


def _read(cli: Cli, path: Path) -> Points:
    found: Points = {}
    for line in cli("export", "--format", "jsonl", path).out.splitlines():
        point = json.loads(line)
        value = math.nan if point["value"] is None else float(point["value"])
        found.setdefault(point["tag"], []).append((point["step"], value))
    return found


def _points(found: Points, name: str) -> list[tuple[int, float]]:
    """The points of a tag; a console log's tags may carry the prefix of an event file's."""
    plain = SPELT.get(name, name)
    for spelt in (plain, f"train/{plain}", plain.replace("_", "/", 1)):
        if spelt in found:
            return found[spelt]
    ends = [tag for tag in found if tag.endswith(f"/{name}")]
    return found[ends[0]] if len(ends) == 1 else []


def _close(one: float, other: float) -> bool:
    if math.isnan(other):
        return math.isnan(one)
    return math.isclose(one, other, rel_tol=2e-5, abs_tol=1e-9)


@pytest.mark.parametrize(("path", "read"), list(_labelled()))
def test_points_are_those_of_an_independent_parse(cli: Cli, path: str, read: Any) -> None:
    file = LOGS / path if read["file"] == WHOLE else LOGS / path / read["file"]
    found = _read(cli, file)
    for label in read["tags"]:
        if label["tag"] in NO_TAG:
            continue
        points = _points(found, label["tag"])
        assert len(points) == label["points"], (label["tag"], sorted(found))
        for step, value in (label["first"], label["last"]):
            # where a training began again, the export does not keep the order of the file
            assert any(
                (step is None or at == step)
                and (value is None or _close(found_value, float(value)))
                for at, found_value in points
            ), (label["tag"], step, value)

"""The configuration, alerts and dashboard of examples/prometheus, with a real Prometheus."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rltui.output.openmetrics import openmetrics
from tests.builders import read_session

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "prometheus"
LOGDIR = ROOT / "tests" / "fixtures" / "labelled" / "verl"
_NAME = re.compile(r"rltui_\w+")

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="there is no Prometheus",
)


def promtool(*arguments: str, text: bytes = b"") -> None:
    done = subprocess.run(
        ["promtool", *arguments], cwd=EXAMPLES, input=text, capture_output=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def verdicts() -> bytes:
    session = read_session([LOGDIR])
    return openmetrics(session).encode()


def test_alerts_and_dashboard_name_gauges_that_exist() -> None:
    known = set(_NAME.findall(verdicts().decode()))
    for name in ("alerts.yml", "grafana-dashboard.json"):
        used = set(_NAME.findall((EXAMPLES / name).read_text()))
        assert used
        assert used <= known | {"rltui_run_eta_seconds"}, name


def test_the_dashboard_is_json_with_panels_side_by_side() -> None:
    panels = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())["panels"]
    cells = set()
    for panel in panels:
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & cells, panel["title"]
        assert place["x"] + place["w"] <= 24
        cells |= own
    assert len({panel["id"] for panel in panels}) == len(panels)


@needs_prometheus
def test_the_text_and_the_rules_pass_promtool() -> None:
    promtool("check", "metrics", text=verdicts())
    promtool("check", "rules", "alerts.yml")
    promtool("check", "config", "prometheus.yml")
    promtool("test", "rules", "alerts_test.yml")

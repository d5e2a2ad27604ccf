"""The configuration, alerts and dashboard of examples/prometheus, with a real Prometheus."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.output.openmetrics import openmetrics
from rltui.session import Session

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "prometheus"
LOGDIR = ROOT / "tests" / "fixtures" / "labelled" / "verl"
PATIENCE_S = 90.0
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
    session = Session([LOGDIR])
    session.scan()
    session.read_all()
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


@needs_prometheus
def test_prometheus_scrapes_and_the_alert_fires(tmp_path: Path) -> None:
    logdir = tmp_path / "runs"
    shutil.copytree(
        LOGDIR, logdir, copy_function=shutil.copy
    )  # written just now: old runs do not ring
    command = [sys.executable, "-m", "rltui", "serve-metrics", str(logdir)]
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        try:
            assert server.stderr is not None
            target = server.stderr.readline().split("/")[2]
            _alert_fires(tmp_path, target)
        finally:
            server.terminate()


def _alert_fires(home: Path, target: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = (EXAMPLES / "prometheus.yml").read_text()
    config = config.replace("15s", "1s").replace("127.0.0.1:9709", target)
    (home / "prometheus.yml").write_text(config)
    alerts = (EXAMPLES / "alerts.yml").read_text().replace("for: 2m", "for: 1s")
    (home / "alerts.yml").write_text(alerts)
    command = [
        *("prometheus", "--config.file", "prometheus.yml", "--storage.tsdb.path", "data"),
        *("--web.listen-address", f"127.0.0.1:{port}"),
    ]
    with (home / "log").open("wb") as log:
        prometheus = subprocess.Popen(command, cwd=home, stdout=log, stderr=log)
    try:
        api = f"http://127.0.0.1:{port}/api/v1"
        firing = until(
            lambda: [a for a in get(f"{api}/alerts", "alerts") if a["state"] == "firing"]
        )
        labels = {(a["labels"]["alertname"], a["labels"]["run"].split("/")[0]) for a in firing}
        assert ("TrainingBad", "grpo_kl_blowup") in labels
    finally:
        prometheus.terminate()
        prometheus.wait(PATIENCE_S)


def get(url: str, key: str) -> list[dict[str, Any]]:
    """A list of the answer; empty while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"][key]
    except OSError:
        return []
    return found


def until(ask: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What is found, once it is."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := ask():
            return found
        time.sleep(0.2)
    raise AssertionError("nothing was found in time")

"""The image and the sidecar of examples/kubernetes agree with each other and with the program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rltui.cli.program import build_parser
from rltui.commands.serve_metrics import HEALTH, PATH
from tests.places import ROOT

EXAMPLES = ROOT / "examples" / "kubernetes"
DOCKERFILE = (EXAMPLES / "Dockerfile").read_text("utf-8")
JOB = yaml.safe_load((EXAMPLES / "sidecar.yaml").read_text("utf-8"))
POD = JOB["spec"]["template"]
(SIDECAR,) = POD["spec"]["initContainers"]
(TRAINING,) = POD["spec"]["containers"]


def mounts(container: dict[str, Any]) -> dict[str, Any]:
    return {m["name"]: m for m in container["volumeMounts"]}


def test_the_arguments_are_those_of_the_program() -> None:
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    for arguments in (SIDECAR["args"], json.loads(command)):
        options = build_parser().parse_args(arguments)
        assert options.logdirs == [Path("/logs")]
        assert options.listen == ("0.0.0.0", SIDECAR["ports"][0]["containerPort"])


def test_the_port_is_the_one_that_is_scraped_and_probed() -> None:
    (port,) = SIDECAR["ports"]
    assert POD["metadata"]["annotations"]["prometheus.io/port"] == str(port["containerPort"])
    assert SIDECAR["readinessProbe"]["httpGet"] == {"path": PATH, "port": port["name"]}
    assert SIDECAR["livenessProbe"]["httpGet"] == {"path": HEALTH, "port": port["name"]}


def test_the_sidecar_only_reads_what_the_training_writes() -> None:
    assert mounts(SIDECAR)["logs"]["readOnly"]
    assert mounts(SIDECAR).keys() == mounts(TRAINING).keys()
    assert {v["name"] for v in POD["spec"]["volumes"]} == {"logs"}
    assert SIDECAR["securityContext"]["readOnlyRootFilesystem"]
    assert SIDECAR["restartPolicy"] == "Always"  # else the training would wait for its end


def test_image_and_manifest_name_the_same_user() -> None:
    assert f"USER {SIDECAR['securityContext']['runAsUser']}:" in DOCKERFILE


def test_what_the_image_copies_is_enough_to_build_rltui(tmp_path: Path) -> None:
    for module in ("build", "hatchling"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    for words in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE):
        *names, target = words.split()
        for name in names:
            source = ROOT / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, tmp_path / "src" / target, ignore=ignored)
            else:
                (tmp_path / "src").mkdir(exist_ok=True)
                shutil.copy(source, tmp_path / "src" / target)
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "-o", tmp_path / "dist"]
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [*command, tmp_path / "src"], capture_output=True, text=True, env=environ, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "dist").glob("rltui-*.whl"))) == 1

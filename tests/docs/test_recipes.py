"""The recipes of docs/recipes.md and the files that they name, run with stand-ins."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.blocks import Desk, blocks
from tests.places import FIXTURES, ROOT
from tests.tables import table
from tests.terminal import Terminal, environment

EXAMPLES = ROOT / "examples"
PAGE = blocks("recipes.md")
BAD = FIXTURES / "labelled" / "verl" / "grpo_kl_blowup" / "grpo_kl_blowup.jsonl"
STAND_INS = (
    *("sbatch", "mail", "curl", "systemctl", "loginctl"),
    *("docker", "kubectl", "prometheus", "ssh"),
)
#: What Slurm's srun does with --prolog and --epilog, on one node.
SRUN = table(__file__)["srun"]
#: A training that is long; its batch script gets the signal before the time limit.
TRAIN_UNTIL_TERM = table(__file__)["train until term"]

pytestmark = pytest.mark.skipif(
    not all(shutil.which(name) for name in ("bash", "timeout", "flock")),
    reason="bash, timeout and flock",
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """With a run that is bad."""
    desk = Desk(tmp_path)
    (tmp_path / "runs" / "grpo").mkdir()
    shutil.copy(BAD, tmp_path / "runs" / "grpo" / "metrics.jsonl")
    for name in STAND_INS:
        desk.program(name)
    desk.program("srun", SRUN)
    return desk


def be_well(desk: Desk) -> None:
    shutil.rmtree(desk.home / "runs")
    shutil.copytree(FIXTURES / "labelled" / "trl" / "sft_healthy", desk.home / "runs" / "sft")


def slurm(desk: Desk) -> bool:
    verdict = json.loads((desk.home / "verdict-7.json").read_text("utf-8"))
    return (
        "examples/slurm/job.sh" in desk.called("sbatch")
        and verdict["level"] == "bad"
        and "entropy collapse" in desk.called("curl")
        and "✖ grpo 90: learning rate × 200" in desk.called("curl")
        and not list(desk.home.glob("*.pid"))
    )


def systemd(desk: Desk) -> bool:
    units = sorted(p.name for p in (desk.home / ".config/systemd/user").iterdir())
    return units == sorted(p.name for p in (EXAMPLES / "systemd").iterdir()) and (
        "enable --now rltui-metrics" in desk.called("systemctl")
    )


def messages(desk: Desk) -> bool:
    said = desk.called("curl")
    return said.count("✖ grpo 90: learning rate × 200") == 1 and r'"text": "\u2716 grpo' in said


#: For every recipe with a shell block: whether it did what it says, and words of its output.
RECIPES: dict[str, tuple[Callable[[Desk], bool], str]] = {
    "Slurm": (slurm, ""),
    "cron with mail": (lambda d: "-s rltui: runs/: bad me@example.org" in d.called("mail"), ""),
    "GitHub Actions": (lambda d: True, "::error title=grpo%3A entropy collapse since 31::entropy"),
    "systemd user unit": (systemd, ""),
    "ntfy, Slack and the like": (messages, ""),
    "Kubernetes sidecar": (lambda d: "sidecar.yaml" in d.called("kubectl"), ""),
    "Prometheus and Grafana": (
        lambda d: "rltui_run_level{" in (d.home / "rltui.prom").read_text("utf-8"),
        "",
    ),
    "A browser": (lambda d: "-L 8000:localhost:8000 node7" in d.called("ssh"), ""),
}


def test_every_recipe_with_a_shell_block_is_run() -> None:
    assert {b.section for b in PAGE if b.language == "sh"} == set(RECIPES)


@pytest.mark.parametrize("section", RECIPES)
def test_what_is_pasted_works(desk: Desk, section: str) -> None:
    worked, words = RECIPES[section]
    output = ""
    for block in PAGE:
        if (block.section, block.language) == (section, "sh"):
            done = desk.run(block.text, SLURM_JOB_ID="7")
            assert done.code == 0, done.err
            output += done.out
    assert worked(desk)
    assert words in output


def job(desk: Desk, **variables: str) -> tuple[int, str]:
    variables = {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_DIR": str(desk.home), **variables}
    done = desk.run("bash examples/slurm/job.sh", **variables)
    return done.code, done.out + done.err


def test_a_job_ends_with_the_code_of_its_training_and_a_verdict(desk: Desk) -> None:
    assert job(desk, TRAIN="false")[0] == 1
    assert job(desk, TRAIN="true")[0] == 0
    assert json.loads((desk.home / "verdict-7.json").read_text("utf-8"))["level"] == "bad"
    assert (desk.home / "verdicts-7.log").exists()
    assert desk.called("curl") == ""  # there is no topic


def test_a_job_that_went_well_sends_nothing(desk: Desk) -> None:
    be_well(desk)
    assert job(desk, TRAIN="true", TOPIC="https://example.org/topic")[0] == 0
    assert json.loads((desk.home / "verdict-7.json").read_text("utf-8"))["level"] == "ok"
    assert desk.called("curl") == ""


def test_a_requeued_job_that_is_bad_does_not_start(desk: Desk) -> None:
    desk.program("train")
    code, said = job(desk, TRAIN="train", SLURM_RESTART_COUNT="1")
    assert (code, desk.called("train")) == (1, "")
    assert "not started again" in said
    be_well(desk)
    assert job(desk, TRAIN="train", SLURM_RESTART_COUNT="1")[0] == 0
    assert desk.called("train")


@pytest.mark.parametrize("slow", ["", 'case $0 in */job.sh) trap "sleep 0.1" DEBUG ;; esac'])
def test_a_job_at_its_time_limit_still_writes_a_verdict(desk: Desk, slow: str) -> None:
    desk.program("train", TRAIN_UNTIL_TERM)
    desk.program("srun", '#!/bin/bash\nexport BATCH=$PPID\nexec "$@"\n')
    (desk.home / "slow.sh").write_text(slow, "utf-8")
    assert job(desk, TRAIN="train", BASH_ENV=str(desk.home / "slow.sh"))[0] == 143
    assert (desk.home / "verdict-7.json").exists()


def test_mail_is_sent_once_for_each_change(desk: Desk) -> None:
    script = "examples/cron/mail_verdict.sh runs/ me@example.org"
    assert [desk.run(script).code for _ in range(2)] == [0, 0]
    assert desk.called("mail").count("mail -s") == 1
    be_well(desk)
    assert [desk.run(script).code for _ in range(2)] == [0, 0]
    assert desk.called("mail").count("mail -s") == 2
    assert "-s rltui: runs/: fine me@example.org" in desk.called("mail")


def test_mail_that_fails_is_sent_again(desk: Desk) -> None:
    desk.program("mail", "#!/bin/sh\nexit 1\n")
    script = "examples/cron/mail_verdict.sh runs/ me@example.org"
    assert desk.run(script).code == 1
    desk.program("mail")
    assert desk.run(script).code == 0
    assert desk.called("mail").count("mail -s") == 1


def test_an_annotation_is_one_line_whatever_the_log_says() -> None:
    finding = {"state": "firing", "level": "bad", "title": "a: b, c", "since_step": 3}
    finding |= {"summary": "100 %\n::set-env name=X::y", "advice": "\r::stop-commands::z"}
    run = {"run": "x", "ending": None, "state": "live", "findings": [finding]}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "github-actions" / "annotate.py")],
        input=json.dumps({"runs": [run]}), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == (
        "::error title=x%3A a%3A b%2C c since 3::"
        "100 %25%0A::set-env name=X::y%0A%0D::stop-commands::z\n"
    )


def test_the_workflow_of_the_example_runs(desk: Desk) -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((EXAMPLES / "github-actions" / "smoke-train.yml").read_text("utf-8"))
    (verdict,) = [s for s in workflow["jobs"]["train"]["steps"] if s.get("name") == "Verdict"]
    (desk.home / "scripts").symlink_to(EXAMPLES / "github-actions")
    summary = desk.home / "summary.md"
    done = desk.run("set -o pipefail\n" + verdict["run"], GITHUB_STEP_SUMMARY=str(summary))
    assert done.code == 1  # the run is bad
    assert "::error title=grpo" in done.out
    assert "grpo" in summary.read_text("utf-8")
    be_well(desk)
    assert desk.run(verdict["run"], GITHUB_STEP_SUMMARY=str(summary)).code == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_systemd_accepts_the_units(desk: Desk) -> None:
    local = desk.home / ".local" / "bin"
    local.mkdir(parents=True)
    (local / "rltui").symlink_to(desk.home / "bin" / "rltui")
    units = [str(p) for p in sorted((EXAMPLES / "systemd").iterdir())]
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *units], capture_output=True, text=True,
        env={**desk.environment(), "XDG_RUNTIME_DIR": str(desk.home)}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_tmux_shows_the_line_and_nothing_of_it_is_a_command(desk: Desk) -> None:
    name = "#{session_name} #[fg=red]x"
    (desk.home / "runs" / "grpo").rename(desk.home / "runs" / name)
    (configuration,) = (b.text for b in PAGE if b.language == "tmux")
    (desk.home / "tmux.conf").write_text(configuration.replace(" 30\n", " 1\n"), "utf-8")
    environ = environment(desk.home, **{k: desk.environment()[k] for k in ("PATH", "PYTHONPATH")})
    tmux = ["tmux", "-S", str(desk.home / "socket")]
    start = [*tmux, "-f", str(desk.home / "tmux.conf"), "new-session", "sleep 120"]
    try:
        program = f"import os; os.execvp('tmux', {start!r})"
        with Terminal(["-c", program], environ, size=(160, 10)) as terminal:
            terminal.read_until(f"✖ {name} 90".encode())
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True, env=environ)

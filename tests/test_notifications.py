"""The examples of ``docs/notifications.md`` work: each is tried against a local server."""

import email
import email.policy
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT
from tests.servers import receiving, receiving_mail

PAGE = (ROOT / "docs" / "notifications.md").read_text("utf-8")
HEALTHY = [0.8 + 0.001 * (s % 7) for s in range(80)]
COLLAPSE = [*HEALTHY, *(0.8 * 0.8**n for n in range(60))]


def block(heading: str, language: str) -> str:
    """The code block of a language below a heading."""
    (section,) = (s for s in PAGE.split("\n## ") if s.startswith(heading))
    (found,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return found


def console(entropy: list[float]) -> str:
    return "".join(
        f"step:{s} - actor/entropy:{e} - actor/pg_loss:0.01"
        f" - critic/score/mean:{0.2 + min(s, 160 - s) / 500}"
        f" - response_length/mean:{300 + s % 5} - actor/grad_norm:{0.3 + (s % 3) / 100}\n"
        for s, e in enumerate(entropy, 1)
    )


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "no_proxy": "127.0.0.1", **more}


def follow(config: str, folder: Path) -> None:
    """A run that goes wrong while it is followed, with a configuration."""
    (folder / "config.yaml").write_text(config, "utf-8")
    command = [sys.executable, "-m", "rltui", "check", "--follow", "--config", "config.yaml", "-"]
    done = subprocess.run(
        command, input=console(COLLAPSE), capture_output=True, text=True, cwd=folder,
        env=environment(), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    assert "entropy collapse, bad since" in done.stdout


def test_incoming_webhook(tmp_path: Path) -> None:
    example = block("Slack", "yaml")
    with receiving() as inbox:
        follow(re.sub(r"https://[^\s\]]+", inbox.url, example), tmp_path)
    events = [json.loads(body) for _, body in inbox.bodies]
    assert {e["schema"] for e in events} == {"rltui.event/1"}
    assert any("entropy collapse, bad since" in e["text"] for e in events)


def test_ntfy(tmp_path: Path) -> None:
    with receiving() as inbox:
        follow(re.sub(r"https://[^\s\]]+", inbox.url, block("ntfy", "yaml")), tmp_path)
    assert any("entropy collapse, bad since" in body for _, body in inbox.bodies)
    assert {kind for kind, _ in inbox.bodies} == {"text/plain; charset=utf-8"}


def test_mail(tmp_path: Path) -> None:
    (tmp_path / "mail_finding.py").write_text(block("Mail", "python"), "utf-8")
    with receiving_mail() as sink:
        port = str(sink.server_address[1])
        config = block("Mail", "yaml").replace('"25"', f'"{port}"')
        config = config.replace("localhost", "127.0.0.1").replace("python3", sys.executable)
        follow(config, tmp_path)
    mails = [email.message_from_string(m, policy=email.policy.default) for m in sink.mails]
    (mail,) = (m for m in mails if "entropy collapse" in m["Subject"])
    assert mail["Subject"] == "bad: entropy collapse fired"
    assert "0.8" in mail.get_body().get_content()

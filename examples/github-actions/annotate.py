"""Verdicts as annotations of GitHub Actions: rltui check LOGDIR --json | python annotate.py

A finding becomes an error or a warning of the job, a run that crashed an error. GitHub shows ten
of each kind in one step. The text comes from logs: it is escaped, so that it stays one command.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

LEVELS = {"bad": "error", "watch": "warning"}


def data(text: str) -> str:
    """Text as the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def title(text: str) -> str:
    """Text as a property of a workflow command."""
    return data(text).replace(":", "%3A").replace(",", "%2C")


def annotations(document: dict[str, Any]) -> Iterator[str]:
    """Workflow commands for the findings that fire, the worst first."""
    found = []
    for run in document["runs"]:
        if run["ending"] and run["state"] == "crashed":
            found.append(("error", run["run"], "crashed: " + run["ending"]["reason"]))
        for finding in run["findings"]:
            if finding["state"] == "firing" and finding["level"] in LEVELS:
                text = f"{finding['summary']}\n{finding['advice']}"
                heading = f"{run['run']}: {finding['title']} since {finding['since_step']}"
                found.append((LEVELS[finding["level"]], heading, text))
    for kind, heading, text in sorted(found, key=lambda f: f[0]):
        yield f"::{kind} title={title(heading)}::{data(text)}"


if __name__ == "__main__":
    for line in annotations(json.load(sys.stdin)):
        print(line)

"""Reads ``data/scenarios.yaml``: what matters most in which kind of training."""

from __future__ import annotations

from pathlib import Path

from rltui.catalogue.model import Metric, Question, Roles, Scenario
from rltui.core.yaml_document import Node, nearest, read_document


def read_scenarios(path: Path, metrics: dict[str, Metric]) -> tuple[tuple[Scenario, ...], Roles]:
    """All scenarios in order (the last one is the fallback), and the roles of metrics.

    Raises DocumentError when the document is wrong.
    """
    document = read_document(path).table()
    out: list[Scenario] = []
    for node in document.need("scenarios").items():
        table = node.table()
        ident, title = table.need("id").text(), table.need("title").text()
        names = table.read("algorithms", Node.texts) or ()
        headline = _keys(table.need("headline"), metrics)
        questions = []
        for entry in table.need("questions").items():
            part = entry.table()
            words = part.need("title").text()
            questions.append(Question(words, _keys(part.need("metrics"), metrics)))
            part.finish()
        table.finish()
        out.append(Scenario(ident, title, names, headline, tuple(questions)))
    roles = _roles(document.need("roles"), metrics)
    document.finish()
    return tuple(out), roles


def _roles(node: Node, metrics: dict[str, Metric]) -> Roles:
    table = node.table()
    keys = {n: table.need(n).choice(metrics) for n in ("step_time", "closing", "tokens")}
    total = table.need("total_steps").texts()
    table.finish()
    return Roles(**keys, total_steps=total)


def _keys(node: Node, metrics: dict[str, Metric]) -> tuple[str, ...]:
    for item in node.items():
        for key in item.text().split("|"):
            known = (
                any(k.startswith(key[:-1]) for k in metrics)
                if key.endswith(".*")
                else key in metrics
            )
            if not known:
                item.fail(f"unknown metric {key!r}", hint=nearest(key, metrics))
    return node.texts()

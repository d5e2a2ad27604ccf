"""What a symptom means, as a document and as text."""

from __future__ import annotations

from typing import Any

from rltui.catalogue import Catalogue
from rltui.draw.prose import wrap
from rltui.health.symptoms import Symptom

Json = dict[str, Any]
_WIDTH = 78


def symptom_document(catalogue: Catalogue, symptom: Symptom) -> Json:
    """What to check when a symptom shows, what usually causes it, and which rules show it."""

    def title(key: str) -> str:
        metric = catalogue.metrics.get(key)
        return key if metric is None else metric.title

    return {
        "id": symptom.id,
        "title": symptom.title,
        "shown_by": list(dict.fromkeys(sign.rule for sign in symptom.found)),
        "check": [
            {
                "first": c.first,
                "question": c.ask,
                "metrics": list(c.metrics),
                "titles": list(dict.fromkeys(title(k) for k in c.metrics)),
            }
            for c in symptom.checks
        ],
        "causes": symptom.causes,
        "advice": symptom.advice,
        "explains": list(symptom.explains),
        "source": symptom.source,
    }


def symptom_lines(symptom: Json, *, reasons: bool) -> list[str]:
    """The document for people; ``reasons``: also where it is from."""
    lines = [f"{symptom['title']} ({symptom['id']})", ""]
    for first, lead in ((True, "check first"), (False, "then")):
        for check in symptom["check"]:
            if check["first"] is first:
                lines += _symptom_fact(lead, f"{', '.join(check['titles'])}: {check['question']}")
                lead = ""
    facts = [
        ("causes", symptom["causes"]),
        ("next step", symptom["advice"]),
        ("source", symptom["source"] if reasons else ""),
        ("shown by", ", ".join(symptom["shown_by"])),
    ]
    return [*lines, *(line for name, text in facts for line in _symptom_fact(name, text))]


def _symptom_fact(name: str, text: str) -> list[str]:
    """The text behind its name, wrapped; no line without text."""
    found = wrap(text, _WIDTH - 14)
    return [f"  {'' if at else name:11} {line}" for at, line in enumerate(found)]

"""Which failures a run would show: as a document and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rltui.catalogue.catalogue import GENERIC
from rltui.core.text import Json, clean, fit
from rltui.draw.prose import wrap
from rltui.facts.alarms import alarms, names_of, wanted
from rltui.health.canary import LEAST, Canary, Failure, Trial
from rltui.output.json_text import fields_of
from rltui.session import JudgedRun

_WIDTH = 80
#: States of a failure, those first that ask for something; and how the text calls them.
_STATES = {"blind": "no metric", "silent": "missed", "early": "too early", "seen": "detected"}
#: Cells of a name from a log.
_NAME = 48


def canary_document(runs: Iterable[JudgedRun]) -> Json:
    """Schema ``rltui.canary/1``: what the rules said of each failure that was injected into a copy
    of each run."""
    canary = Canary()
    return {"schema": "rltui.canary/1", "runs": [_entry(run, canary) for run in runs]}


def _entry(run: JudgedRun, canary: Canary) -> Json:
    known = run.recognition
    rows = max((run.data.count(t) for t in run.infos), default=0)
    failures = [_failure(run, f, canary, tries=rows >= LEAST) for f in alarms(run)]
    order = list(_STATES)
    return {
        "run": run.key.name,
        "name": run.name,
        "framework": None if known is None else known.framework,
        "algorithm": None if known is None else known.algorithm,
        "rows": rows,
        "tried": rows >= LEAST,
        "seen": sum(f["state"] == "seen" for f in failures),
        "failures": sorted(failures, key=lambda f: order.index(f["state"])),
    }


def _failure(run: JudgedRun, failure: Failure, canary: Canary, *, tries: bool) -> Json:
    found: list[Trial] = []
    if tries and run.recognition is not None:
        found = canary.tries(failure, run.data, run.infos, run.recognition)
    if failure.lacking:
        state = "blind"
    elif any(trial.rows is not None for trial in found):
        state = "seen"
    else:
        state = "silent" if any(not trial.early for trial in found) else "early"
    symptom = failure.symptom
    metrics = run.catalogue.metrics
    return {
        "id": symptom.id,
        "title": symptom.title,
        "harm": symptom.harm.value,
        "state": state,
        "rules": [_trial(trial, run) for trial in found],
        "log": [
            {"metric": k, "title": metrics[k].title if k in metrics else k,
             "names": list(names_of(run, k) or names_of(run, k, GENERIC))}
            for k in wanted(run, failure)
        ],
    }  # fmt: skip


def _trial(trial: Trial, run: JudgedRun) -> Json:
    names = ("rule", "variant", "tag", "metric", "level", "rows", "why")
    given = {"rule": trial.rule.id, "variant": trial.variant.id}
    document = fields_of(trial, names, **given, metric=run.infos[trial.tag].key or None)
    return document | {"level": None if trial.rows is None else document["level"]}


def canary_text(document: Json) -> str:
    """The document in lines of at most 80 cells."""
    return "".join(f"{line}\n" for run in document["runs"] for line in _lines(run))


def _lines(run: Json) -> list[str]:
    every = run["failures"]
    counts = Counter(f["state"] for f in every)
    told = [f"{run['seen']} of {len(every)} failures detected"]
    if not run["tried"]:
        told = [f"{run['rows']} rows, too few to try its alarms ({LEAST} are needed)"]
        counts.pop("early", None)
    told += [f"{words}: {counts[s]}" for s, words in _STATES.items() if s != "seen" and counts[s]]
    head = wrap(f"{fit(clean(run['name']), _NAME)}: {', '.join(told)}", _WIDTH)
    lines = [line if line is head[0] else f"  {line}" for line in head]
    for failure in every:
        if not run["tried"] and failure["state"] == "early":
            continue
        text = wrap(f"{failure['title']}: {_WORDS[failure['state']](failure)}", _WIDTH - 13)
        lines += [f"  {'' if n else _STATES[failure['state']]:<11}{x}" for n, x in enumerate(text)]
    return lines


def _asks(failure: Json) -> str:
    first = failure["log"][0]
    return f"log {' or '.join(clean(n) for n in first['names'] or [first['metric']])}"


def _stays(failure: Json) -> str:
    trial: Json = failure["rules"][0]
    why = f": {trial['why']}" if trial["why"] else ""
    return f"{trial['variant']} on {fit(clean(trial['tag']), _NAME)}{why}"


def _speaks(failure: Json) -> str:
    spoke = [t for t in failure["rules"] if t["rows"] is not None]
    first = spoke[0]
    rows = first["rows"]
    when = f"after {rows} {'row' if rows == 1 else 'rows'}" if rows else "at once"
    more = f", {len(spoke) - 1} more" if len(spoke) > 1 else ""
    return f"{first['variant']} {when}, {first['level']}{more}"


_WORDS = {"blind": _asks, "silent": _stays, "early": _stays, "seen": _speaks}

"""What a tag, metric, rule or symptom means, as a document and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rltui.catalogue import Catalogue
from rltui.catalogue.catalogue import GENERIC
from rltui.catalogue.model import Explanation, Metric, Recognition, TagInfo
from rltui.core.errors import UsageError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.core.yaml_document import nearest, parts_of
from rltui.draw.prose import wrap
from rltui.facts import sentences
from rltui.health.detectors.extent import Extent
from rltui.health.model import Judgement
from rltui.health.rule import Number, Rule, Variant, When
from rltui.health.rules import why_unread
from rltui.health.symptoms import Symptom, symptoms

Json = dict[str, Any]
_WIDTH = 78
#: Names of tags that are listed without ``reasons``.
_SHOWN = 4
_BETTER = {"up": "higher", "down": "lower", "inside": "inside its range", "none": ""}


def explain_document(
    catalogue: Catalogue, rules: Iterable[Rule], name: str | None, framework: str | None
) -> Json:
    """All that is known about ``name``; without a name, the list of everything.

    Raises UsageError for an unknown name, with the nearest known one.
    """
    known = {r.id: r for r in rules}
    if name is None:
        return _everything(catalogue, known)
    name = clean(name)
    found = catalogue.explain(name, framework)
    nameless = not found.tags and all(info.metric is None for _, info in found.own)
    if found.metric is None and nameless and name not in {*known, *symptoms()}:
        name = _by_title(catalogue, known, name)
        found = catalogue.explain(name, framework)
    described = _described(catalogue, known, name, found)
    if not described:
        hint = nearest(name, [*found.nearest, *known, *symptoms()])
        raise UsageError(
            f"unknown name {name!r}: no tag, metric, rule or symptom"
            + (f"; did you mean {hint!r}?" if hint else "")
        )
    readers = [r for r in known.values() if any(_readers([r], key) for key in _keys(described))]
    document = {"schema": "rltui.explain/1", "name": name, **described}
    document["rules"] = {r.id: r.title for r in readers}
    if "metric" in document:
        document["unread"] = None if readers else why_unread(name)
    return document


def _everything(catalogue: Catalogue, rules: Mapping[str, Rule]) -> Json:
    """The titles of all that can be explained."""
    return {
        "schema": "rltui.explain/1",
        "metrics": {k: m.title for k, m in catalogue.metrics.items()},
        "rules": {k: r.title for k, r in rules.items()},
        "symptoms": {k: s.title for k, s in symptoms().items()},
        "frameworks": {k: d.title for k, d in catalogue.dialects.items()},
    }


def _described(
    catalogue: Catalogue, rules: Mapping[str, Rule], name: str, found: Explanation
) -> Json:
    """All that bears a name: the metric, tags by framework, the rule, the symptom."""
    document: Json = {}
    if found.metric is not None:
        document["metric"] = _metric(found.metric)
        document["logged_as"] = [
            {"framework": f, "pattern": p, "where": w} for f, p, w in found.patterns
        ]
    answers = [] if name in symptoms() else _answers(found, rules.values())
    if any(x["metric"] for x in answers):
        document["tags"] = answers
    if name in rules:
        document["rule"] = _rule(rules[name])
    if name in symptoms():
        document["symptom"] = symptom_document(catalogue, symptoms()[name])

    return document


def _by_title(catalogue: Catalogue, rules: Mapping[str, Rule], name: str) -> str:
    """The metric key, rule or symptom whose title on screen is ``name``; else ``name``."""
    wanted = name.lower()
    for symptom in symptoms().values():
        if symptom.title.lower() == wanted:
            return symptom.id
    for rule in rules.values():
        if wanted in (rule.title.lower(), *(v.title.lower() for v in rule.variants)):
            return rule.id
    for key, metric in catalogue.metrics.items():
        if metric.title.lower() == wanted:
            return key
    return name


def _keys(document: Json) -> list[str]:
    keys = [document["metric"]["key"]] if "metric" in document else []
    return keys + [t["metric"] for t in document.get("tags", ()) if t["metric"]]


def _answers(found: Explanation, rules: Iterable[Rule]) -> list[Json]:
    """What a tag means in each framework that writes it, then in runs of no known one, where the
    kind of training may decide; and the rules that judge it there."""
    rules = tuple(rules)
    answers = [
        {
            "framework": framework,
            "scenarios": [],
            **_tag(info),
            "rules": _readers(rules, info.metric.key, framework) if info.metric else [],
        }
        for framework, info in found.tags
        if framework != GENERIC
    ]
    several = len(found.own) > 1
    for kinds, info in found.own:
        runs = [Recognition(GENERIC, "", None, kind, ()) for kind in kinds]
        key = info.metric.key if info.metric else ""
        read = [_readers(rules, key, GENERIC, run) for run in runs] if key else []
        answers.append(
            {
                "framework": GENERIC,
                "scenarios": [kind.id for kind in kinds] if several else [],
                **_tag(info),
                "rules": list(dict.fromkeys(rule for ids in read for rule in ids)),
            }
        )

    return answers


def _readers(
    rules: Iterable[Rule], key: str, framework: str = "", run: Recognition | None = None
) -> list[str]:
    """Ids of the rules that judge a metric, in runs of a framework, or in such a run."""
    return [
        rule.id
        for rule in rules
        if any(
            v.reads(key) is not None
            and not (v.remaining or v.detector.finite_is_quiet)
            and (not framework or v.when.framework_fits(framework))
            and (run is None or v.when.run_fits(run))
            for v in rule.variants
        )
    ]


def _metric(metric: Metric) -> Json:
    healthy = metric.healthy
    return {
        "key": metric.key,
        "title": metric.title,
        "category": metric.category.value,
        "unit": metric.unit,
        "direction": metric.direction.value,
        "healthy": None if healthy is None else {"low": healthy.low, "high": healthy.high},
        "meaning": metric.meaning,
        "source": metric.source,
    }


def _tag(info: TagInfo) -> Json:
    return {
        "tag": info.tag,
        "metric": info.metric.key if info.metric else None,
        "title": info.title,
        "category": info.category.value,
        "unit": info.unit,
        "direction": info.direction.value,
        "sign": info.sign,
        "scale": info.scale,
        "meaning": info.meaning,
        "guessed": info.guessed,
        "matched_by": info.where,
        "source": info.source,
    }


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "title": rule.title,
        "category": rule.category.value,
        "meaning": rule.meaning,
        "variants": [
            {
                "id": v.id,
                "title": v.title,
                "metrics": list(v.metrics),
                "applies": _applies(v.when),
                "healthy": _limit(v, min(v.levels)),
                "limits": {level.word: _limit(v, level) for level in v.levels},
                "detector": v.detector.name,
                "watch": _parameters(v.levels.get(Level.WATCH, {})),
                "bad": _parameters(v.levels.get(Level.BAD, {})),
                "hold": v.hold.plain(),
                "release": v.release,
                "min_points": v.min_points,
                "advice": v.advice,
                "sources": dict(v.sources),
            }
            for v in rule.variants
        ],
        "where": f"{rule.path.name}:{rule.line}",
    }


def _applies(when: When) -> str:
    """For which runs a variant is, in words; "" for all."""
    words = []
    for only, never in (
        (when.scenarios, when.not_scenarios),
        (when.frameworks, when.not_frameworks),
        (when.algorithms, when.not_algorithms),
    ):
        words += [", ".join(only)] if only else []
        words += [f"not {', '.join(never)}"] if never else []
    if when.unlogged:
        words.append(f"without {', '.join(when.unlogged)}")
    return "; ".join(words)


def _limit(variant: Variant, level: Level) -> str:
    """The limit of a level in words, where it does not depend on the run; else ""."""
    given: dict[str, Number | None] = {
        name: p.default for name, p in variant.detector.parameters.items()
    }
    given.update(variant.levels[level])
    values = {
        name: None if v is None else float(v.most if isinstance(v, Extent) else v)
        for name, v in given.items()
    }
    template = variant.words.healthy
    known = all(isinstance(x, str) or values.get(x.name) is not None for x in parts_of(template))
    rules = (variant.id,)

    return sentences.healthy(
        Judgement(level, None, None, rules, template if known else "", "", values)
    )


def _parameters(values: Mapping[str, Number]) -> Json:
    return {k: v.plain() if isinstance(v, Extent) else v for k, v in values.items()}


def explain_text(document: Json, *, reasons: bool = False) -> str:
    """The document for people: what it means, its limits, what to do. ``reasons``: also who logs
    it under which name, the parameters of a rule and where each limit comes from."""
    if "name" not in document:
        return _listing(document)
    lines: list[str] = []
    if "metric" in document:
        lines += _metric_lines(document["metric"], document["logged_as"], reasons=reasons)
    shown = document.get("metric", {}).get("meaning")
    groups = _grouped(document.get("tags", ()))
    for group in groups:
        if reasons or group[0]["meaning"] != shown or len(groups) > 1:
            lines += _tag_lines(group, document["rules"], reasons=reasons)
    if "rule" in document:
        lines += _rule_lines(document["rule"], reasons=reasons)
    if "symptom" in document:
        lines += symptom_lines(document["symptom"], reasons=reasons)
    if document["rules"] and "rule" not in document and "metric" in document:
        names = ", ".join(f"{title} ({key})" for key, title in document["rules"].items())
        lines += ["", *wrap(f"judged by {names}", _WIDTH)]
    if document.get("unread"):
        lines += ["", *wrap(f"judged by no rule: {document['unread']}", _WIDTH)]

    return "\n".join(lines).strip("\n") + "\n"


def _listing(document: Json) -> str:
    lines = []
    for section in ("symptoms", "rules", "metrics", "frameworks"):
        lines += ["", section]
        lines += [f"  {key:28} {title}" for key, title in document[section].items()]
    return "\n".join(lines).strip("\n") + "\n"


def _metric_lines(metric: Json, logged: list[Json], *, reasons: bool) -> list[str]:
    unit = f", {metric['unit']}" if metric["unit"] else ""
    lines = [f"{metric['title']} ({metric['key']}): {metric['category']}{unit}", ""]
    lines += wrap(metric["meaning"], _WIDTH)
    facts = [
        ("better", _BETTER[metric["direction"]]),
        ("healthy", sentences.bounds(**metric["healthy"]) if metric["healthy"] else ""),
        ("logged as", "" if reasons else _patterns(logged)),
        ("source", metric["source"] if reasons else ""),
    ]
    lines += _facts(facts, 0)
    if reasons:
        lines += ["", "logged as", *(f"  {x['framework']:16} {x['pattern']}" for x in logged)]
    return lines


def _patterns(logged: list[Json]) -> str:
    """The names under which most frameworks log a metric."""
    common = [name for name, _ in Counter(x["pattern"] for x in logged).most_common()]
    more = f", and {len(common) - _SHOWN} other names" if len(common) > _SHOWN else ""
    return ", ".join(common[:_SHOWN]) + more


def _grouped(tags: Iterable[Json]) -> list[list[Json]]:
    """Entries that are the same for several frameworks together."""
    groups: dict[tuple[object, ...], list[Json]] = {}
    for entry in tags:
        same = ("metric", "title", "unit", "sign", "meaning", "guessed")
        groups.setdefault(tuple(entry[k] for k in same), []).append(entry)
    return list(groups.values())


def _tag_lines(group: list[Json], rules: Mapping[str, str], *, reasons: bool) -> list[str]:
    entry = group[0]
    own = [x for x in group if x["framework"] == GENERIC]
    kinds = ", ".join(kind for x in own for kind in x["scenarios"])
    if entry["metric"] is None:
        where = f" of kind {kinds}" if kinds else ""
        text = f"In runs of no known framework{where} it means nothing by its name: it is shown "
        return ["", *wrap(f"{text}under {entry['category']}, and no rule judges it.", _WIDTH)]
    unit = f", {entry['unit']}" if entry["unit"] else ""
    lines = ["", f"{entry['title']} ({entry['metric']}){unit}"]
    lines += [f"  {x}" for x in wrap(entry["meaning"], _WIDTH - 2)]
    if entry["sign"] < 0:
        lines.append("  logged with the opposite sign")
    names = [x["framework"] for x in group if x["framework"] != GENERIC]
    names += [f"no known framework{f' ({kinds})' if kinds else ''}"] if own else []

    return lines + _facts(_tag_facts(group, names, rules, reasons=reasons))


def _tag_facts(
    group: list[Json], names: list[str], rules: Mapping[str, str], *, reasons: bool
) -> Iterator[tuple[str, str]]:
    """Who logs the tag of a group, how its name is known, and which rules read it."""
    entry = group[0]
    yield "holds for", ", ".join(names)
    if not reasons:
        patterns = dict.fromkeys(x["matched_by"].partition(" ")[2] for x in group)
        yield "matched by", ", ".join(patterns)
    yield "guessed", sentences.GUESSED if entry["guessed"] else ""
    read = dict.fromkeys(rule for x in group for rule in x["rules"])
    yield "judged by", ", ".join(f"{rules[rule]} ({rule})" for rule in read) or "no rule"
    if reasons:
        yield from (("matched by", x["matched_by"]) for x in group)
        yield "source", entry["source"]


def _rows(value: Any) -> str:
    """A number, or how many rows: "5 to 20 (10 % of the rows so far)"."""
    return str(Extent(**value)) if isinstance(value, dict) else str(value)


def _rule_lines(rule: Json, *, reasons: bool) -> list[str]:
    lines = [f"{rule['title']} ({rule['id']}): {rule['category']}", ""]
    lines += wrap(rule["meaning"], _WIDTH)
    shared = len({v["advice"] for v in rule["variants"]}) == 1
    for variant in rule["variants"]:
        lines += ["", f"{variant['title']} ({variant['id']})" if reasons else variant["title"]]
        lines += _facts(_variant_facts(variant, advised=not shared, reasons=reasons))
        for name, why in variant["sources"].items() if reasons else ():
            lines += [f"    {x}" for x in wrap(f"{name + ': ' if name else ''}{why}", _WIDTH - 4)]
    if not rule["variants"]:
        return lines
    if shared:
        lines += ["", *_facts([("check", rule["variants"][0]["advice"])], 0)]
    hint = "" if reasons else "; --reasons shows them"
    return [*lines, "", f"rules.override changes the parameters{hint}"]


def _variant_facts(variant: Json, *, advised: bool, reasons: bool) -> Iterator[tuple[str, str]]:
    """What a variant of a rule reads, for which runs, its limits and when it speaks."""
    yield "reads", ", ".join(variant["metrics"])
    yield "for", variant["applies"]
    yield "limits", ", ".join(f"{k} unless {x}" for k, x in variant["limits"].items() if x)
    if advised:
        yield "check", variant["advice"]
    if reasons:
        yield "fires", _when(variant)
        for word in ("watch", "bad"):
            yield word, ", ".join(f"{k} {_rows(v)}" for k, v in variant[word].items())


def _facts(facts: Iterable[tuple[str, str]], indent: int = 2) -> list[str]:
    """The texts behind their names, wrapped; no line for an empty one."""
    lines = []
    for name, text in facts:
        for at, line in enumerate(wrap(text, _WIDTH - 11 - indent)):
            lines.append(f"{'':{indent}}{'' if at else name:11}{line}")
    return lines


def _when(variant: Json) -> str:
    """After how many rows a variant speaks, and is silent again."""
    hold = variant["hold"]
    rows = "at once" if hold == 1 else f"after {_rows(hold)} rows in a row"
    least = f", from row {variant['min_points']} on" if variant["min_points"] > 1 else ""
    return f"{rows}{least}; resolved after {variant['release']} rows inside the limit"


def symptom_document(catalogue: Catalogue, symptom: Symptom) -> Json:
    """What to check when a symptom shows, what usually causes it, and which rules show it."""

    def title(key: str) -> str:
        metric = catalogue.metrics.get(key)
        return key if metric is None else metric.title

    return {
        "id": symptom.id,
        "title": symptom.title,
        "shown_by": list(dict.fromkeys(sign.rule for sign in symptom.found if sign.rule)),
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

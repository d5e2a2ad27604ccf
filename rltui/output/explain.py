"""Meaning of a tag, metric, rule or symptom, as a document and as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain, pairwise
from typing import Any

from rltui.catalogue import Catalogue
from rltui.catalogue.catalogue import GENERIC
from rltui.catalogue.model import Explanation, Recognition, Scope, TagInfo
from rltui.core.errors import UsageError
from rltui.core.level import Level
from rltui.core.template import parts_of
from rltui.core.text import Json, clean, hyperlink
from rltui.core.yaml_document import nearest
from rltui.draw.prose import wrap
from rltui.facts import sentences
from rltui.health.model import Limit
from rltui.health.rule import OF_RUN, Number, Rule, Variant
from rltui.health.rules import why_unread
from rltui.health.symptoms import symptom_of, symptoms
from rltui.output.json_text import fields_of

_WIDTH = 78
#: A file of a public repository, as sources name it: OWNER/NAME:PATH.
_FILE = re.compile(r"(?<![^\s(])([\w.-]+/[\w.-]+):([\w./-]+\.\w+)(?=[\s,;)])")
#: Names of tags that are listed without ``reasons``.
_SHOWN = 4
#: A name and its number in a line of a log, or in a printed dict.
_NAMED = re.compile(
    r"""["']?([A-Za-z_][\w./@%()-]*)["']?\s{0,9}[:=]\s{0,9}["']?[-+]?(?:\.?\d|nan|inf)"""
)
_BETTER = {"up": "higher", "down": "lower", "inside": "inside its range", "none": ""}

_METRIC = ("key", "title", "category", "unit", "direction", "healthy", "meaning", "source")
_TAG = (
    *("tag", "metric", "title", "category", "unit", "direction", "sign", "scale", "meaning"),
    *("guessed", "matched_by", "source"),
)
_VARIANT = (
    *("id", "title", "metrics", "applies", "healthy", "limits", "detector", "watch", "bad"),
    *("advice", "sources"),
)


def explain_document(
    catalogue: Catalogue, rules: Iterable[Rule], name: str | None, framework: str | None
) -> Json:
    """All that is known about ``name``; without a name, the list of everything.

    Raises UsageError for an unknown name, with the nearest known one.
    """
    known = {r.id: r for r in rules}
    if name is None:
        every: dict[str, Mapping[str, Any]] = {
            "metrics": catalogue.metrics,
            "rules": known,
            "symptoms": symptoms(),
            "frameworks": catalogue.dialects,
        }
        titles = {kind: {k: x.title for k, x in some.items()} for kind, some in every.items()}
        return {"schema": "rltui.explain/1", **titles}

    name = clean(name)
    found = catalogue.explain(name, framework)
    nameless = not found.tags and all(info.metric is None for _, info in found.own)
    if found.metric is None and nameless and name not in {*known, *symptoms()}:
        name = _by_title(catalogue, known, name)
        found = catalogue.explain(name, framework)

    line = _line(catalogue, name, framework)
    described = line if len(line.get("line", ())) > 1 else _described(catalogue, known, name, found)
    described = described or line
    if not described:
        hint = nearest(name, [*found.nearest, *known, *symptoms()])
        raise UsageError(
            f"unknown name {name!r}: no tag, metric, rule or symptom"
            + (f"; did you mean {hint!r}?" if hint else "")
        )

    keys = {t["metric"] for t in described.get("tags", ())} - {None}
    keys |= {found.metric.key} if found.metric else set()
    read = {rule for key in keys for rule in _readers(known.values(), key)}
    document = {"schema": "rltui.explain/1", "name": name, **described}
    document["rules"] = {k: r.title for k, r in known.items() if k in read}
    if found.metric is not None:
        document["unread"] = None if read else why_unread(name)

    return document


def _by_title(catalogue: Catalogue, rules: Mapping[str, Rule], name: str) -> str:
    """The metric key, rule or symptom whose title on screen is ``name``; else ``name``."""
    titles = chain(
        ((s.title, s.id) for s in symptoms().values()),
        ((t, r.id) for r in rules.values() for t in (r.title, *(v.title for v in r.variants))),
        ((m.title, key) for key, m in catalogue.metrics.items()),
    )
    return next((key for title, key in titles if title.lower() == name.lower()), name)


def _line(catalogue: Catalogue, line: str, framework: str | None) -> Json:
    """Meaning of the names before the numbers of a pasted log line; empty where there are none."""
    names = list(dict.fromkeys(_NAMED.findall(line)))
    if not names:
        return {}
    known = catalogue.recognise(names, framework=framework)
    resolver = catalogue.resolver(known.framework, known.algorithm, known.scenario.id)
    infos = (resolver.resolve(name) for name in names)
    form = ("tag", "title", "meaning", "metric")
    told = [fields_of(i, form, metric=i.key or None) for i in infos]
    return {"framework": known.title, "algorithm": known.algorithm, "line": told}


def _described(
    catalogue: Catalogue, rules: Mapping[str, Rule], name: str, found: Explanation
) -> Json:
    """All that bears a name: the metric, tags by framework, the rule, the symptom."""
    document: Json = {}
    if found.metric is not None:
        healthy = found.metric.healthy
        bounds = healthy and {"low": healthy.low, "high": healthy.high}
        document["metric"] = fields_of(found.metric, _METRIC, healthy=bounds)
        document["logged_as"] = [
            {"framework": f, "pattern": p, "where": w} for f, p, w in found.patterns
        ]

    tags = [] if name in symptoms() else _tags(found, tuple(rules.values()))
    if any(tag["metric"] for tag in tags):
        document["tags"] = tags
    if name in rules:
        rule = rules[name]
        document["rule"] = {
            **fields_of(rule, ("id", "title", "category", "meaning")),
            "variants": [_variant(rule.id, v) for v in rule.variants],
            "where": f"{rule.path.name}:{rule.line}",
        }

    if name in symptoms():
        symptom = symptoms()[name]
        titles = {key: metric.title for key, metric in catalogue.metrics.items()}
        document["symptom"] = {
            **fields_of(symptom, ("id", "title")),
            "shown_by": list(dict.fromkeys(sign.rule for sign in symptom.found if sign.rule)),
            "check": [
                {
                    "first": c.first,
                    "question": c.ask,
                    "metrics": list(c.metrics),
                    "titles": list(dict.fromkeys(titles.get(k, k) for k in c.metrics)),
                }
                for c in symptom.checks
            ],
            **fields_of(symptom, ("causes", "explains", "source")),
            "advice": symptom.whole_advice,
        }

    return document


def _tags(found: Explanation, rules: Iterable[Rule]) -> list[Json]:
    """Meaning of a tag in each framework that writes it, then in runs of no known one, where the
    kind of training may decide; and the rules that judge it there."""

    def entry(framework: str, scenarios: list[str], info: TagInfo, read: list[str]) -> Json:
        key = info.key or None
        tag = fields_of(info, _TAG, metric=key, matched_by=info.where)
        return {"framework": framework, "scenarios": scenarios, **tag, "rules": read}

    tags = []
    for framework, info in found.tags:
        if framework != GENERIC:
            read = _readers(rules, info.key, framework)
            tags.append(entry(framework, [], info, read))

    for kinds, info in found.own:
        read = []
        for kind in kinds:
            run = Recognition(GENERIC, "", None, kind, ())
            read += _readers(rules, info.key, GENERIC, run)
        names = [kind.id for kind in kinds] if len(found.own) > 1 else []
        tags.append(entry(GENERIC, names, info, list(dict.fromkeys(read))))

    return tags


def _readers(
    rules: Iterable[Rule], key: str, framework: str = "", run: Recognition | None = None
) -> list[str]:
    """Ids of the rules that judge a metric, in runs of a framework, or in such a run; none for
    what is no metric."""
    return [
        rule.id
        for rule in rules
        if key
        and any(
            v.reads(key) is not None
            and not (v.remaining or v.detector.finite_is_quiet)
            and (not framework or v.when.fits("framework", framework))
            and (run is None or v.when.run_fits(run))
            for v in rule.variants
        )
    ]


def _variant(rule: str, variant: Variant) -> Json:
    """The conditions and parameters of one variant of a rule, and what helps against the symptom
    that it shows."""
    symptom = symptom_of(rule, variant.metrics[0], variant.title)
    when = variant.when
    words = list[str]()
    for word in OF_RUN:
        name = f"{word.replace('_', ' ')} " if word in Scope._fields else ""
        words += [name + ", ".join(when.only[word])] if word in when.only else []
        words += [f"{name}not {', '.join(when.never[word])}"] if word in when.never else []
    if when.unlogged:
        words.append(f"without {', '.join(when.unlogged)}")

    set_for = {level.word: dict(values) for level, values in variant.levels.items()}
    return fields_of(
        variant,
        _VARIANT,
        applies="; ".join(words),
        healthy=_limit(variant, min(variant.levels)),
        limits={level.word: _limit(variant, level) for level in variant.levels},
        detector=variant.detector.name,
        watch=set_for.get("watch", {}),
        bad=set_for.get("bad", {}),
        sources=dict(variant.sources),
        advice=symptom.whole_advice if symptom is not None else variant.advice,
    )


def _limit(variant: Variant, level: Level) -> str:
    """The limit of a level in words, where it does not depend on the run; else ""."""
    given: dict[str, Number | None] = {
        name: p.default for name, p in variant.detector.parameters.items()
    }
    given.update(variant.levels[level])
    values = {name: None if v is None else float(v) for name, v in given.items()}
    template = variant.words.healthy
    if any(not isinstance(x, str) and values.get(x.name) is None for x in parts_of(template)):
        template = ""

    return sentences.limit_words(Limit(level, words=template, numbers=values))


def linked_files(text: str) -> str:
    """The text with names of files of public repositories as links."""
    address = r"https://github.com/\1/blob/HEAD/\2"
    return _FILE.sub(lambda m: hyperlink(m[0], m.expand(address)), text)


def explain_text(document: Json, *, reasons: bool = False) -> str:
    """The document for people: what it means, its limits, what to do. ``reasons``: also who logs
    it under which name, the parameters of a rule and where each limit comes from."""
    lines: list[str] = []
    for section in ("symptoms", "rules", "metrics", "frameworks") if "name" not in document else ():
        lines += ["", section, *(f"  {key:28} {x}" for key, x in document[section].items())]

    for said in document.get("line", ()):
        meaning = said["meaning"] or "no meaning is known"
        lines += ["", f"{clean(said['tag'])}: {clean(said['title'])}", f"  {meaning}"]

    if "metric" in document:
        lines += _metric_lines(document["metric"], document["logged_as"], reasons)

    lines += _meanings(document, reasons)
    if "rule" in document:
        lines += _rule_lines(document["rule"], reasons)
    if "symptom" in document:
        lines += _symptom_lines(document["symptom"], reasons)
    if "metric" in document and document["rules"] and "rule" not in document:
        names = ", ".join(f"{title} ({key})" for key, title in document["rules"].items())
        lines += ["", *wrap(f"judged by {names}", _WIDTH)]

    if document.get("unread"):
        lines += ["", *wrap(f"judged by no rule: {document['unread']}", _WIDTH)]

    return "\n".join(lines).strip("\n") + "\n"


def _meanings(document: Json, reasons: bool) -> list[str]:
    """Lines on the meanings of a tag: first that with the longest matching pattern, else of most
    frameworks; then the others."""
    # Entries that are the same for several frameworks stand together.
    groups: dict[tuple[object, ...], list[Json]] = {}
    for entry in document.get("tags", ()):
        same = ("metric", "title", "unit", "sign", "direction", "meaning", "guessed")
        groups.setdefault(tuple(entry[k] for k in same), []).append(entry)

    lines: list[str] = []
    shown = document.get("metric", {}).get("meaning")

    def rank(group: list[Json]) -> tuple[object, ...]:
        patterns = {(entry["matched_by"] or "").partition(" ")[2] for entry in group}
        own = max((len(p) for p in patterns if document["name"].endswith(p)), default=0)
        return not group[0]["metric"], -own, -len(group)

    ranked = sorted(groups.values(), key=rank)
    first, *others = ranked or [[]]
    told = {shown}
    many = any(group[0]["metric"] for group in others) and not (reasons or shown)
    if many:
        lines += wrap(
            f"{document['name']} most likely means {first[0]['title']}; "
            "for others: --framework NAME or --reasons",
            _WIDTH,
        )
    for group in ranked:
        entry = group[0]
        if many and entry["metric"] and group is not first:
            better = f", better {_BETTER[entry['direction']]}".removesuffix(", better ")
            turned = ", with the opposite sign" if entry["sign"] < 0 else ""
            head = f"{entry['title']} ({entry['metric']}){better}{turned}"
            lines += ["", *wrap(f"{head}: {', '.join(_holders(group))}", _WIDTH)]
            if entry["meaning"] not in told:
                lines += [f"  {line}" for line in wrap(entry["meaning"], _WIDTH - 2)]
        elif reasons or entry["meaning"] != shown or others:
            lines += _tag_lines(group, document["rules"], reasons)
        told.add(entry["meaning"])
    return lines


def _facts(facts: Iterable[tuple[str, str]], indent: int = 2, name: int = 11) -> list[str]:
    """The texts behind their names of ``name`` cells, wrapped; no line for an empty one."""
    return [
        f"{'':{indent}}{'' if at else title:{name}}{line}"
        for title, text in facts
        for at, line in enumerate(wrap(text, _WIDTH - name - indent))
    ]


def _metric_lines(metric: Json, logged: list[Json], reasons: bool) -> list[str]:
    unit = f", {metric['unit']}" if metric["unit"] else ""
    lines = [f"{metric['title']} ({metric['key']}): {metric['category']}{unit}", ""]
    lines += wrap(metric["meaning"], _WIDTH)
    common = [name for name, _ in Counter(x["pattern"] for x in logged).most_common()]
    more = f", and {len(common) - _SHOWN} other names" if len(common) > _SHOWN else ""
    facts = [
        ("better", _BETTER[metric["direction"]]),
        ("healthy", sentences.bounds(**metric["healthy"]) if metric["healthy"] else ""),
        ("logged as", "" if reasons else ", ".join(common[:_SHOWN]) + more),
        ("source", metric["source"] if reasons else ""),
    ]
    lines += _facts(facts, 0)
    if reasons:
        lines += ["", "logged as", *(f"  {x['framework']:16} {x['pattern']}" for x in logged)]

    return lines


def _holders(group: list[Json]) -> list[str]:
    """The frameworks of tags, then what runs of no known one there are."""
    named = [x["framework"] for x in group if x["framework"] != GENERIC]
    kinds = ", ".join(kind for x in group for kind in x["scenarios"])
    nameless = f"no known framework ({kinds})" if kinds else "no known framework"
    return named if len(named) == len(group) else [*named, nameless]


def _tag_lines(group: list[Json], rules: Mapping[str, str], reasons: bool) -> list[str]:
    """Lines on a tag: its meaning, who logs it, how its name is known, and which rules read it."""
    entry = group[0]
    if entry["metric"] is None:
        text = f"In runs of {_holders(group)[-1]} it means nothing by its name: it is shown "
        return ["", *wrap(f"{text}under {entry['category']}, and no rule judges it.", _WIDTH)]

    unit = f", {entry['unit']}" if entry["unit"] else ""
    lines = ["", f"{entry['title']} ({entry['metric']}){unit}"]
    lines += [f"  {x}" for x in wrap(entry["meaning"], _WIDTH - 2)]
    if entry["sign"] < 0:
        lines.append("  logged with the opposite sign")

    matched = [x["matched_by"] for x in group]
    patterns = dict.fromkeys(where.partition(" ")[2] for where in matched)
    read = dict.fromkeys(rule for x in group for rule in x["rules"])
    facts = [
        ("holds for", ", ".join(_holders(group))),
        ("matched by", "" if reasons else ", ".join(patterns)),
        ("better", _BETTER[entry["direction"]]),
        ("guessed", sentences.GUESSED if entry["guessed"] else ""),
        ("judged by", ", ".join(f"{rules[rule]} ({rule})" for rule in read) or "no rule"),
        *(("matched by", where) for where in matched if reasons),
        ("source", entry["source"] if reasons else ""),
    ]
    return lines + _facts(facts)


def _rule_lines(rule: Json, reasons: bool) -> list[str]:
    """A rule with its variants: what each reads, for which runs, its limits and when it fires."""
    lines = [f"{rule['title']} ({rule['id']}): {rule['category']}", ""]
    lines += wrap(rule["meaning"], _WIDTH)
    shared = len({v["advice"] for v in rule["variants"]}) == 1
    title = rule["title"]
    read = ""

    for variant in rule["variants"] if reasons else _merged(rule["variants"]):
        told = title
        title = variant["title"]
        before = read
        read = ", ".join(variant["metrics"])
        lines += ["", *([f"{title} ({variant['id']})"] if reasons else {title} - {told})]
        limits = (f"{k} {sentences.beyond(x)}" for k, x in variant["limits"].items() if x)
        facts = [
            ("reads", read if read != before or reasons else ""),
            ("for", variant["applies"]),
            ("limits", ", ".join(limits)),
            ("next step", "" if shared else variant["advice"]),
        ]
        lines += _facts(facts)
        if reasons:
            levels = (
                (w, ", ".join(f"{k} {v}" for k, v in variant[w].items())) for w in ("watch", "bad")
            )
            said = (f"{name}: {why}" if name else why for name, why in variant["sources"].items())
            lines += _facts(list(levels))
            lines += [f"    {x}" for text in said for x in wrap(text, _WIDTH - 4)]

    if not rule["variants"]:
        return lines
    if shared:
        lines += ["", *_facts([("next step", rule["variants"][0]["advice"])], 0)]
    hint = "" if reasons else "; --reasons shows them"
    return [*lines, "", f"rules.override changes the parameters{hint}"]


def _merged(variants: Iterable[Json]) -> list[Json]:
    """The variants with those as one that differ in the metrics alone; of neighbours with the same
    advice only the last one has it."""
    found: dict[str, Json] = {}
    for variant in variants:
        same = str([variant[k] for k in ("title", "applies", "limits", "advice")])
        read = (
            [*found[same]["metrics"], *variant["metrics"]] if same in found else variant["metrics"]
        )
        found[same] = {**variant, "metrics": read}
    merged = list(found.values())
    for variant, following in pairwise(merged):
        variant["advice"] = "" if variant["advice"] == following["advice"] else variant["advice"]
    return merged


def _symptom_lines(symptom: Json, reasons: bool) -> list[str]:
    facts = []

    for first, lead in ((True, "check first"), (False, "then")):
        checks = [c for c in symptom["check"] if c["first"] is first]
        for at, check in enumerate(checks):
            text = f"{sentences.listed(check['titles'])}: {check['question']}"
            facts.append(("" if at else lead, text))

    facts += [
        ("causes", symptom["causes"]),
        ("next step", symptom["advice"]),
        ("source", symptom["source"] if reasons else ""),
        ("shown by", ", ".join(symptom["shown_by"])),
    ]
    return [f"{symptom['title']} ({symptom['id']})", "", *_facts(facts, name=12)]

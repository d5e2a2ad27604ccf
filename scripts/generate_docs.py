"""Writes what the documentation says about the catalogue and the rules from the data themselves.

python scripts/generate_docs.py            rewrite README.md and docs/*.md
python scripts/generate_docs.py --check    exit with 1 when they are not up to date
"""

from __future__ import annotations

import csv
import inspect
import math
import re
import sys
import textwrap
from pathlib import Path

from generate_schemas import schema_files  # beside this file
from make_pictures import FRAMEWORKS

from rltui.catalogue import Catalogue, load_catalogue
from rltui.catalogue.model import Range
from rltui.core.errors import DocumentError
from rltui.core.level import Level
from rltui.facts.metrics import tab_of, tabs_of
from rltui.formats import ALL_FORMATS, FORMATS
from rltui.health.canary import failures
from rltui.health.detectors.registry import DETECTORS, Detector
from rltui.health.rule import Rule
from rltui.health.rules import load_rules
from rltui.health.symptoms import Harm, symptoms
from rltui.session import Session
from rltui.trackers import TRACKERS
from rltui.tui.keys import EVERYWHERE, KEYS, Key

ROOT = Path(__file__).resolve().parent.parent
_DETECTORS_INTRO = """
A detector reads the rows of one tag and decides for each row, from the rows up to it, whether it is
beyond a threshold. A rule names one detector and sets its parameters. Rows beyond the threshold add
evidence, farther ones more, and rows inside remove it (Page's CUSUM): a finding begins once there
is enough, and is over when none is left. numpy is the only library; von Neumann's ratio and Page's
CUSUM take a few lines.

The tables give the share of simulated series, in percent, in which a rule fires at any time: AR(1)
noise without trend or change, with a memory of 0, 0.5 and 0.9 from row to row, of 50, 300 and 2,000
rows. Some rules report flat series: for these the figures are their power. *Healthy*: the number of
healthy runs of the open origins (see `verdicts.md`) on which a rule fires wrongly, of those that
log its metrics.

The picture gives the power of each rule: the share of series in which it finds its own example of a
failure, by the number of rows of the example, for the whole failure and for 75, 50 and 25 % of it.
`python -m benchmarks.verdicts.noise` measures all of them.

![Power of each rule by rows and size of the failure](power.svg)
"""
_FRAMEWORKS_INTRO = """
The set of tags tells the framework; `--framework` overrides. rltui shows unknown tags, too, in the
category that their name suggests, or in Other, and ignores a prefix that all tags share. Where a
run logs no reward under a usual name, the most similar tag is judged, marked `guessed`; its
findings are at most *watch*. `rltui explain TAG` says which frameworks write a name, which entry
matched, and what judges it.
"""
_KEY_HABITS = """
`q` closes what was opened over a screen (help, an explanation, the log, settings, samples, media)
and quits on the screens themselves. `Esc` goes back one level and never quits; `Ctrl+C` quits
everywhere.
"""
_NOISE = "benchmarks/verdicts/noise.csv"
#: The picture of power: charts across, width and height of one, colours of small to whole failures.
_ACROSS, _WIDE, _HIGH = 4, 170, 60
_COLOURS = ("#9ecae1", "#5aa2d0", "#2171b5", "#08306b")
_FRAME = f"""\
<path d="M0,0H{_WIDE}M0,{_HIGH // 2}H{_WIDE}M0,{_HIGH}H{_WIDE}"/>
<text class="t" x="-20" y="3">100</text><text class="t" x="-8" y="{_HIGH + 3}">0</text>
<text class="t" y="{_HIGH + 12}">10</text>
<text class="t" x="{_WIDE // 2 - 6}" y="{_HIGH + 12}">100</text>
<text class="t" x="{_WIDE - 16}" y="{_HIGH + 12}">1,000</text>"""
_BLOCK = r"(<!-- generated: {name} -->\n).*?(<!-- end generated -->)"


def frameworks_table(catalogue: Catalogue) -> str:
    """The frameworks that are recognised, one row each."""
    lines = [
        "| framework | algorithms distinguished | tags known | recognised by (some) |",
        "| --- | --- | --- | --- |",
    ]
    for suspect in sorted(
        catalogue.suspects, key=lambda s: catalogue.dialects[s.head.id].title.lower()
    ):
        title = catalogue.dialects[suspect.head.id].title
        if not title:
            continue
        prints = suspect.head.fingerprint
        groups = [(p,) for p in prints.strong] + list(prints.together) if prints else []
        marks = ", ".join(f"`{' + '.join(p.text for p in g)}`" for g in groups[:3])
        algorithms = ", ".join(dict.fromkeys(m.name for m in suspect.algorithms))
        known = catalogue.resolver(suspect.head.id).size
        lines.append(f"| {title} | {algorithms} | {known} | {marks} |")
    return "\n".join(lines) + "\n"


#: What lies beside logs and is not read, and why. Kept by hand.
NOT_READ = (
    (
        "pickles: `*.pkl`, `params.pkl`, `variant.pkl`, Dopamine's `log_N`",
        "reading one runs code from the file",
    ),
    (
        "arrays: SB3's `evaluations.npz`, `*.npy` of ElegantRL and MushroomRL",
        "no names and no step that could be relied on; SB3 logs the same figures as `eval/*`",
    ),
    ("weights: `*.pt`, `*.pth`, `*.safetensors`, checkpoints", "no figures by step"),
    (
        "audio, graphs, embeddings and profiles in event files",
        "neither numbers, texts, histograms nor pictures; counted",
    ),
    ("TFRecord files of data, binary profiles (`*.profile-empty`, `*.xplane.pb`)", "no scalars"),
    ("samples: rollouts, completions, traces, predictions (JSON lines, JSON, Parquet)", "texts"),
    (
        "data sets: tables and JSON files with neither a step nor figures of a training",
        "a column of numbers alone shows no training",
    ),
    (
        "settings alone: `config.json`, `params.json`, `run.json`, `hparams.txt`",
        "hyperparameters are taken from logs that carry them",
    ),
    (
        "what rltui wrote: `check --json`, `snapshot --json`, `export`, whatever its name",
        "results, not logs",
    ),
    ("`wandb-summary.json`", "last values only; the `.wandb` file beside it has all of them"),
    (
        "`phases` and `topology` of miles' dashboard",
        "the stages are in its metrics (`perf/*_time`), the rest is no figure",
    ),
    ("SwanLab's `backup.swanlab`, before its records were protobuf", "another format of records"),
    ("Ray's logs (`/tmp/ray/session_*`)", "no figures in them; its dashboard keeps them in memory"),
    ("Aim (`.aim/`)", "a RocksDB, which only its own library reads"),
    ("Comet, Neptune, ClearML, runs of W&B without a directory", "nothing is on the disk"),
    (
        "logs compressed otherwise (`*.zst`, `*.xz`), output in notebooks",
        "unpack or save them as text",
    ),
)
_DIGITS = {3: "as computed", 2: "float32", 1: "as printed"}


def formats_page(catalogue: Catalogue) -> str:
    """What is read, what is not, and why; and the frameworks that are recognised."""
    lines = ["# What is read, what is not, and why", ""]
    lines += ["Generated from the log formats by `scripts/generate_docs.py`.", "", "## Read", ""]
    lines += ["| format | files | written by | how | values | a file is left alone when it has |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for form in FORMATS:
        how = "appended" if form.restarts else "appended, or rewritten with another column"
        how = "rewritten whole" if form.document else how
        cells = (form.name, form.files, form.written_by, how, _DIGITS[form.precision_rank])
        lines.append(f"| {' | '.join(cells)} | {form.lacks or 'another content'} |")
    lines += [
        f"| {t.name} | {t.files} | {t.written_by} | a store | as computed | |" for t in TRACKERS
    ]
    lines += [
        "",
        "A file is recognised by its name and its first 64 KiB, event files by their name.",
    ]
    lines += ["Where rows have no step, they are counted, and the program says so."]
    names = ", ".join(f.name for f in ALL_FORMATS[len(FORMATS) :])
    lines += [f"Files of {names} may be packed with gzip (`progress.csv.gz`).", ""]
    lines += ["## Not read", "", "| what | why |", "| --- | --- |"]
    lines += [f"| {what} | {why} |" for what, why in NOT_READ]
    lines += ["", "## Frameworks", "", _FRAMEWORKS_INTRO.strip(), ""]
    return "\n".join(lines) + "\n" + frameworks_table(catalogue)


def frameworks_list(catalogue: Catalogue) -> str:
    """The names of the frameworks that are recognised, as a paragraph."""
    titles = sorted(_titles(catalogue), key=str.lower)
    text = f"{len(titles)} frameworks: {', '.join(titles)}."
    return textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False) + "\n"


def _titles(catalogue: Catalogue) -> list[str]:
    found = (catalogue.dialects[s.head.id].title for s in catalogue.suspects)
    return [title for title in found if title]


def range_words(healthy: Range | None) -> str:
    """The range in words: ``≤ 0.2``, ``0.1 to 2``, or nothing."""
    if healthy is None:
        return ""
    if healthy.low is None:
        return f"≤ {healthy.high:g}"
    if healthy.high is None:
        return f"≥ {healthy.low:g}"
    return f"{healthy.low:g} to {healthy.high:g}"


def metrics_page(catalogue: Catalogue) -> str:
    """Every metric with unit, range, meaning and the tags that write it."""
    lines = ["# Metrics", "", "Generated from the catalogue by `scripts/generate_docs.py`.", ""]
    category = ""
    for metric in catalogue.metrics.values():
        if metric.category.heading != category:
            category = metric.category.heading
            lines += [f"## {category}", ""]
        healthy = range_words(metric.healthy)
        facts = [f for f in (metric.unit, healthy and f"healthy {healthy}") if f]
        tail = f" ({', '.join(facts)})" if facts else ""
        lines.append(f"- **{metric.title}** `{metric.key}`{tail}. {metric.meaning}")
    return "\n".join(lines).rstrip() + "\n"


def rules_page(rules: tuple[Rule, ...]) -> str:
    """Every rule with what it reads, its thresholds and where they are from."""
    lines = ["# Rules", "", "Generated from the shipped rules by `scripts/generate_docs.py`.", ""]
    for rule in rules:
        lines += [f"## {rule.title} (`{rule.id}`)", "", rule.meaning, ""]
        for variant in rule.variants:
            reads = ", ".join(f"`{m}`" for m in variant.metrics)
            lines.append(f"- **{variant.title}** (`{variant.id}`) reads {reads}")
            for level in (Level.WATCH, Level.BAD):
                values = variant.levels.get(level)
                if values:
                    words = ", ".join(f"{k} {v}" for k, v in values.items())
                    lines.append(f"  - {level.word}: {words or 'as it is'}")
            for name, why in variant.sources.items():
                text = " ".join(why.split())
                lines.append(f"  - {name + ': ' if name else ''}{text}")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def diagnoses_page(catalogue: Catalogue) -> str:
    """Every symptom with what to check, causes before effects."""
    lines = [
        "# Diagnoses",
        "",
        "Generated from `rltui/health/data/diagnoses.yaml`. Findings of a run form stories: a",
        "symptom that an earlier one of this list explains, because it began soon after it or",
        "while it lasted, stands below it. Of equally bad stories the one that does most harm",
        f"comes first: {', '.join(h.value for h in Harm)}. Each check shows the value now, its",
        "badge and its sparkline.",
    ]
    for symptom in symptoms().values():
        lines += ["", f"## {symptom.title} (`{symptom.id}`)", ""]
        for check in symptom.checks:
            keys = [k for k in check.metrics if k in catalogue.metrics]
            titles = dict.fromkeys(catalogue.metrics[k].title for k in keys)
            names = " or ".join(titles) or ", ".join(f"`{k}`" for k in check.metrics)
            lines.append(f"- {'check first' if check.first else 'then'}: {names}: {check.ask}")
        lines += ["", f"Usual causes: {symptom.causes}. {symptom.advice}"]
        rules = ", ".join(f"`{s}`" for s in dict.fromkeys(s.rule for s in symptom.found if s.rule))
        shown = f"Shown by {rules}. " if rules else ""
        lines += ["", f"{shown}Harm: {symptom.harm.value}. Source: {symptom.source}."]
    return "\n".join(lines) + "\n"


def detectors_page(rules: tuple[Rule, ...]) -> str:
    """What each detector computes, what a rule may set, and how often its rules fire on noise."""
    head, noise = _measured()
    shown = head[: head.index("healthy") + 1]
    lines = [
        "# Detectors",
        "",
        "Generated from the detectors by `scripts/generate_docs.py`.",
        "",
        _DETECTORS_INTRO.strip(),
        "",
    ]
    for name, found in sorted(DETECTORS.items()):
        users = [v.id for r in rules for v in r.variants if v.detector is found]
        lines += [f"## `{name}`", "", *_detector_lines(found)]
        measured = [u for u in users if u in noise]
        if measured:
            lines += ["", _row("rule", shown), _row("---", ["---:"] * len(shown))]
            lines += [_row(f"`{u}`", noise[u][: len(shown)]) for u in measured]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _measured() -> tuple[list[str], dict[str, list[str]]]:
    """What was measured of each rule: the columns, and the cells by rule."""
    head, *rows = csv.reader((ROOT / _NOISE).read_text(encoding="utf-8").splitlines())
    return head[2:], {row[0]: row[2:] for row in rows}


def power_picture() -> str:
    """A chart for each rule: the share that it finds by number of rows, a line for each size."""
    head, measured = _measured()
    columns = [(at, *name[2:].split(": ")) for at, name in enumerate(head) if name[0] == "×"]
    sizes = list(dict.fromkeys(size for _, size, _ in columns))
    places = {int(rows): _WIDE * math.log10(int(rows) / 10) / 2 for _, _, rows in columns}
    known = {name: cells for name, cells in sorted(measured.items()) if cells[columns[0][0]]}
    parts = []
    for at, (name, cells) in enumerate(known.items()):
        x, y = 34 + at % _ACROSS * (_WIDE + 46), 70 + at // _ACROSS * (_HIGH + 44)
        parts += [f'<g transform="translate({x},{y})">', f'<text y="-6">{name}</text>', _FRAME]
        for size, colour in zip(sizes, _COLOURS, strict=True):
            points = " ".join(
                f"{places[int(rows)]:.0f},{_HIGH * (1 - float(cells[i]) / 100):.0f}"
                for i, of, rows in columns
                if of == size
            )
            parts.append(f'<polyline points="{points}" stroke="{colour}"/>')
        parts.append("</g>")
    width = 20 + _ACROSS * (_WIDE + 46)
    height = 70 + -(-len(known) // _ACROSS) * (_HIGH + 44)
    legend = "".join(
        f'<tspan fill="{colour}">  {float(size):.0%} </tspan>'
        for size, colour in zip(sizes, _COLOURS, strict=True)
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
            "<style>text{font:10px sans-serif;fill:#333}polyline{fill:none;stroke-width:1.8}"
            "path{stroke:#ccc;fill:none}.t{fill:#777;font-size:8px}</style>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
            '<text x="34" y="22">Found, in percent of simulated series, by number of rows.</text>',
            f'<text x="34" y="38" xml:space="preserve">Size of the failure: {legend}</text>',
            *parts,
            "</svg>\n",
        ]
    )


def _row(first: str, rest: list[str]) -> str:
    return f"| {first} | {' | '.join(rest)} |"


def _detector_lines(found: Detector) -> list[str]:
    text = (inspect.getdoc(found.run) or "").replace("``", "`")
    given = ", ".join(
        f"`{p.name}`" if p.default is None else f"`{p.name}` ({p.default})"
        for p in found.parameters.values()
    )
    lines = [text, ""]
    if given:
        lines.append(f"- parameters (default): {given}")
    if found.roles:
        lines.append(f"- other metrics: {', '.join(f'`{r}`' for r in found.roles)}")
    if found.facts:
        lines.append(f"- numbers for words: {', '.join(f'`{f}`' for f in found.facts)}")
    return lines


def _is_one(key: Key, other: Key) -> bool:
    """Whether two rows of the table are one: a key that means the same elsewhere, or a pair."""
    same = (key.words, key.keys) == (other.words, other.keys)
    is_next = KEYS.index(key) == KEYS.index(other) + 1
    return same or (is_next and (key.method, key.where) == (other.method, other.where))


def keys_page() -> str:
    """The table of keys, with the action ids that the config's ``keys`` section names."""
    lines = ["# Keys", "", "Generated from the table of keys by `scripts/generate_docs.py`.", ""]
    lines += [*_KEY_HABITS.strip().splitlines(), ""]
    lines += ["| keys | does | where | action |", "| --- | --- | --- | --- |"]
    folded: list[list[Key]] = []
    for key in KEYS:
        same = [rows for rows in folded if any(_is_one(key, other) for other in rows)]
        if not same:
            same = [[]]
            folded += same
        same[0] += [key, *(other for rows in same[1:] for other in rows)]
        folded = [rows for rows in folded if rows not in same[1:]]
    for rows in folded:
        places = dict.fromkeys(place for key in rows for place in key.where)
        everywhere = set(EVERYWHERE) <= set(places)
        rest = [w for w in places if not (everywhere and w in EVERYWHERE)]
        where = ", ".join((["everywhere"] if everywhere else []) + rest)
        shown = "  ".join(dict.fromkeys(x for key in rows for x in key.shown.split("  ")))
        words = "; ".join(dict.fromkeys(key.words for key in rows))
        actions = ", ".join(f"`{key.action}`" for key in rows)
        lines.append(f"| {shown} | {words} | {where} | {actions} |")
    return "\n".join(lines) + "\n"


#: Metrics of a tab that are listed.
_SOME = 6


def tabs_table(framework: str) -> str:
    """What the tabs show of the run in the picture of a framework: titles and tags."""
    session = Session([ROOT / "tests" / "fixtures" / FRAMEWORKS[framework]])
    session.scan()
    session.read_all()
    (run,) = session.runs()
    found: dict[str, list[str]] = {}
    for tag, info in run.infos.items():
        found.setdefault(tab_of(info), []).append(f"{info.title} `{tag}`")
    lines = ["| tab | shows |", "| --- | --- |"]
    for tab in tabs_of(run):
        named = found.get(tab.id, [])
        if named:
            more = f" and {len(named) - _SOME} more" if len(named) > _SOME else ""
            lines.append(f"| {tab.title} | {', '.join(named[:_SOME])}{more} |")
    return "\n".join(lines) + "\n"


def failures_list(catalogue: Catalogue, rules: tuple[Rule, ...], framework: str) -> str:
    """The failures that a framework's names can show, the worst first."""
    resolver = catalogue.resolver(framework)
    infos = {name: resolver.resolve(name) for name in resolver.names}
    known = catalogue.recognise(infos, framework=framework)
    every = failures(rules, infos, known)
    titles = dict.fromkeys(failure.symptom.title for failure in every if failure.watched)
    return "".join(f"- {title}\n" for title in titles)


def framework_pages(catalogue: Catalogue, rules: tuple[Rule, ...]) -> dict[Path, str]:
    """The pages of docs/frameworks with their generated parts."""
    found = {}
    for path in sorted((ROOT / "docs" / "frameworks").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for framework in re.findall(r"<!-- generated: tabs (\S+) -->", text):
            text = _with_block(text, f"tabs {framework}", tabs_table(path.stem))
            listed = failures_list(catalogue, rules, framework)
            text = _with_block(text, f"failures {framework}", listed)
        found[path] = text
    return found


def _with_block(text: str, name: str, table: str) -> str:
    pattern = re.compile(_BLOCK.format(name=name), re.DOTALL)
    return pattern.sub(lambda m: m[1] + table + m[2], text)


def documents() -> dict[Path, str]:
    """Path -> the text that it should have."""
    catalogue = load_catalogue()
    readme = ROOT / "README.md"
    text = _with_block(readme.read_text(encoding="utf-8"), "frameworks", frameworks_list(catalogue))
    rules = load_rules(metrics=catalogue.metrics)
    return {
        readme: text,
        ROOT / "docs" / "detectors.md": detectors_page(rules),
        ROOT / "docs" / "power.svg": power_picture(),
        ROOT / "docs" / "formats.md": formats_page(catalogue),
        ROOT / "docs" / "diagnoses.md": diagnoses_page(catalogue),
        ROOT / "docs" / "keys.md": keys_page(),
        ROOT / "docs" / "metrics.md": metrics_page(catalogue),
        ROOT / "docs" / "rules.md": rules_page(rules),
        **framework_pages(catalogue, rules),
        **schema_files(ROOT / "docs" / "schemas", rules),
    }


def main() -> int:
    """Write or check."""
    try:
        texts = documents()
    except DocumentError as error:
        print(error, file=sys.stderr)
        return 2
    stale = [p for p, text in texts.items() if not p.exists() or p.read_text("utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Documents against their JSON schemas, field by field; over the logs of the corpora, too."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from rltui.commands.verbs import SCHEMAS
from rltui.config import Config
from rltui.core.errors import UsageError
from rltui.facts.gate import Known, Others, judge, read_conditions
from rltui.health.configured import open_catalogue, open_rules
from rltui.output.brief import brief_document, changes_document
from rltui.output.canary import canary_document
from rltui.output.explain import explain_document
from rltui.output.gate import Gated, gate_document
from rltui.output.json_document import check_document, event_line, snapshot_document
from rltui.output.json_text import dump
from rltui.session import Session
from rltui.session.event import Watcher
from tests.builders import read_session
from tests.commands.conftest import Cli, cli, well
from tests.places import CORPORA, FIXTURES, ROOT
from tests.tables import table

__all__ = ["cli", "well"]
#: Conditions of each kind.
EXPECT = Path(__file__).with_name("expect.yaml")
#: One of so many rows of the seeds.
SOME = 3


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """All parts of a schema that describe a record."""
    if isinstance(schema, dict) and "properties" in schema:
        yield schema
    parts = schema.values() if isinstance(schema, dict) else schema
    for part in parts if isinstance(schema, dict | list) else ():
        yield from objects(part)


@cache
def validator(name: str) -> Draft202012Validator:
    """The schema without room for fields that it does not name, but for the numbers of rules."""
    schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    closed = deepcopy(schema)
    for part in objects(closed):
        if "statistic" not in part["properties"]:
            part["additionalProperties"] = False
    return Draft202012Validator(closed)


def check(name: str, document: dict[str, Any]) -> None:
    """The document as its readers get it, held against the schema."""
    read = json.loads(dump(document))
    wrong = next(validator(name).iter_errors(read), None)
    assert wrong is None, f"{name}: {wrong.json_path}: {wrong.message[:300]}"


def check_session(session: Session) -> None:
    """All that is told of a session."""
    check("snapshot", snapshot_document(session))
    check("check", check_document(session))
    brief = brief_document(session, skipped=True)
    check("brief", brief)
    older = deepcopy(brief) | {"id": "0000", "runs": deepcopy(brief["runs"][1:])}
    for run in older["runs"]:
        run["level"], run["story"] = "unknown", run["story"][1:]
    check("brief-changes", changes_document(older, brief))
    check("brief-changes", changes_document(brief, older | {"runs": []}))
    for event in Watcher(session).events():
        check("event", json.loads(event_line(event)))
    runs = session.runs()
    conditions = read_conditions(EXPECT, Known.of(Config()))
    others = Others(runs[0], runs[1:6])
    gated = [Gated(r, EXPECT, [(c, judge(c, r, others)) for c in conditions]) for r in runs]
    check("gate", gate_document(gated))
    # one name for each metric: all take long
    names = {i.key: i.tag for run in runs for i in run.infos.values() if i.metric}
    catalogue = open_catalogue(Config())
    rules = open_rules(Config(), catalogue)
    for name in names.values():
        with suppress(UsageError):  # a name that only the others of its run explain
            check("explain", explain_document(catalogue, rules, name, None))


@pytest.fixture(scope="module")
def labelled() -> Session:
    return read_session([FIXTURES / "labelled"])


def test_the_fixtures(labelled: Session) -> None:
    check_session(labelled)
    check("canary", canary_document(labelled.runs()[:2]))


@pytest.mark.skipif(not CORPORA.is_dir(), reason=f"no corpora at {CORPORA}")
@pytest.mark.parametrize("corpus", sorted(p.name for p in CORPORA.glob("*") if p.is_dir()))
def test_all_logs_of_the_corpora(corpus: str, cli: Cli, tmp_path: Path) -> None:
    if corpus == "traps":  # those that are made
        subprocess.run([sys.executable, CORPORA / "traps" / "make.py", tmp_path], check=True)
    elif corpus == "seedrows":
        tool = run_path(str(CORPORA.parent / "tools" / "score_seedrows.py"))
        for row in tool["load"](tool["GIVEN"])[::SOME]:
            tool["write"](tmp_path / row["key"], row, True, tool["GIVEN"], 0)
    logdir = tmp_path if any(tmp_path.iterdir()) else CORPORA / corpus
    check_session(read_session([logdir]))
    check("doctor", json.loads(cli("doctor", logdir, "--json").out))


def test_the_verbs(cli: Cli, well: Path, tmp_path: Path) -> None:
    for name, *words in (
        ("doctor", "doctor", well, tmp_path / "none"),
        ("doctor", "doctor", "--config", tmp_path / "none.yaml"),
        ("gate", "gate", well, "--expect", EXPECT, "--history", well, "--reference", "calm"),
        ("brief", "brief", well, "--since", "ffff"),
    ):
        check(name, json.loads(cli(*words, "--json").out))


@pytest.mark.parametrize("name", ["", "entropy", "nan", "actor/ppo_kl", "loss: 3 kl: 4"])
def test_what_a_name_means(name: str, cli: Cli) -> None:
    check("explain", json.loads(cli("explain", *filter(None, [name]), "--json").out))


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each field of a document is; of a list those of the first item."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*at, key)
            yield from paths(part, (*at, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*at, 0))


def test_a_field_that_is_renamed_is_noticed_by_readers(labelled: Session) -> None:
    free = {"evidence", "categories", "metrics", "error", "skipped", "id", "alarms", "then"}
    for name, document in (
        ("snapshot", snapshot_document(labelled)),
        ("brief", brief_document(labelled, skipped=True)),
    ):
        schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text("utf-8"))
        printed = Draft202012Validator(schema)
        read = json.loads(dump(document))
        read["runs"] = read["runs"][:1]
        for *parents, key in [p for p in paths(read) if not free & set(map(str, p))]:
            part = read
            for step in parents:
                part = part[step]
            value = part.pop(key)
            assert not printed.is_valid(read), (*parents, key)
            part[key] = value
        assert printed.is_valid(read)


def test_each_schema_is_printed_and_listed(cli: Cli) -> None:
    assert sorted(p.stem for p in (ROOT / "docs" / "schemas").glob("*.json")) == list(SCHEMAS)
    assert [line.split()[0] for line in cli("schema").out.splitlines()] == list(SCHEMAS)
    for name in SCHEMAS:
        found = json.loads(cli("schema", name).out)
        assert all(x["description"] for o in objects(found) for x in o["properties"].values())
        assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_example_of_the_configuration_and_mistakes_in_one() -> None:
    example = yaml.safe_load((ROOT / "config.example.yaml").read_text("utf-8"))
    assert list(validator("config").iter_errors(example)) == []
    assert example.keys() == validator("config").schema["properties"].keys()
    beyond = table(__file__)["beyond_a_schema"]
    known = table(str(ROOT / "tests" / "test_config.py"))
    for case in known["mistakes_are_reported_with_line_and_column"]:
        if not any(words in case["says"] for words in beyond):
            assert not validator("config").is_valid(yaml.safe_load(case["text"])), case["text"]


def test_the_skill_for_agents_names_every_state() -> None:
    skill = (ROOT / "examples" / "skill" / "SKILL.md").read_text("utf-8")
    schema = validator("brief").schema["$defs"]["BriefRunMore"]
    assert [s for s in schema["properties"]["state"]["enum"] if f"`{s}`" not in skill] == []

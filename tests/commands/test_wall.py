"""A fault of rltui in one run costs that run: every other is shown, and the exit code is 70."""

import json
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from rltui.commands import check, serve_metrics
from rltui.core.batch import RunKey
from rltui.core.installation import state_directory
from rltui.formats.base import Decoded
from rltui.formats.jsonl.jsonl_decoder import JsonLinesDecoder
from rltui.health.detectors.registry import Detector
from rltui.health.engine import Engine
from rltui.session import Session
from tests.commands.conftest import Cli, write_jsonl
from tests.fakes import grpo_tags

pytestmark = pytest.mark.faults

OTHER = RunKey(0, "other")
#: What fails for the run "sick", by what it belongs to.
PLACES = {
    "store": ("rltui.store.run.RunData.apply", lambda run, *_: run.key),
    "names": ("rltui.session.tag_resolution.Interpreter.interpret", lambda _, view: view.key),
    "progress": ("rltui.session.judging.Judge.renew", lambda _, view: view.key),
    "rules": ("rltui.health.engine.Engine.advance", lambda _, run, *__: run.key),
    "text": ("rltui.output.text_report._verdict_lines", lambda run: run.key),
    "JSON": ("rltui.output.json_document.why_unknown", lambda run: run.key if run.infos else OTHER),
    "values": ("rltui.session.run.JudgedRun.series", lambda run, _: run.key),
}
VERBS = [
    "check {}",
    "check -j 1 {}",
    "check --json {}",
    "check --format line {}",
    "check --format openmetrics {}",
    "snapshot {}",
    "snapshot --json {}",
    "snapshot --markdown {}",
    "export {}",
    "export --format jsonl {}",
    "plot {} entropy",
]


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that rltui fails in, and a healthy one that comes after it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_jsonl(tmp_path / "runs" / "sick" / "a.jsonl", grpo_tags(40))
    write_jsonl(tmp_path / "runs" / "well" / "a.jsonl", grpo_tags(40))
    return tmp_path / "runs"


def break_in(monkeypatch: pytest.MonkeyPatch, name: str, key_of: Callable[..., RunKey]) -> None:
    """Have a function fail for the run "sick"."""
    module, _, attribute = name.rpartition(".")
    import importlib

    try:
        owner: Any = importlib.import_module(module)
    except ModuleNotFoundError:
        package, _, cls = module.rpartition(".")
        owner = getattr(importlib.import_module(package), cls)
    works = getattr(owner, attribute)

    def broken(*arguments: Any, **options: Any) -> Any:
        if "sick" in key_of(*arguments).name:
            raise IndexError("a fault\x1b[31m of the program")
        return works(*arguments, **options)

    monkeypatch.setattr(owner, attribute, broken)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("place", PLACES)
def test_the_other_run_is_shown(
    cli: Cli, two: Path, monkeypatch: pytest.MonkeyPatch, place: str, verb: str
) -> None:
    break_in(monkeypatch, *PLACES[place])
    found = cli(*(str(two) if w == "{}" else w for w in verb.split()))
    assert "Traceback" not in found.err
    if "line" not in verb:
        assert ("entropy" if "plot" in verb else "well") in found.out
    assert found.code in (0, 70)
    if found.code:
        assert "sick: " in found.err
        assert "IndexError: a fault" in found.err
        assert "\x1b" not in found.err


@pytest.mark.parametrize("place", ["store", "names", "rules", "text"])
def test_check_says_which_run_and_where_the_traceback_is(
    cli: Cli, two: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    break_in(monkeypatch, *PLACES[place])
    found = cli("check", two)
    assert found.code == 70
    assert "✔ well" in found.out
    assert "sick" in found.out
    reports = list((state_directory(os.environ) / "faults").glob("*.txt"))
    assert len(reports) == 1
    assert str(reports[0]) in found.err
    text = reports[0].read_text()
    assert "IndexError" in text
    assert "\x1b" not in text


def test_a_fault_is_written_once(cli: Cli, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_in(monkeypatch, *PLACES["rules"])
    cli("check", two)
    cli("check", two)
    assert len(list((state_directory(os.environ) / "faults").iterdir())) == 1


def test_json_names_the_fault(cli: Cli, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_in(monkeypatch, *PLACES["JSON"])
    sick, well = json.loads(cli("check", "--json", two).out)["runs"]
    assert sick["level"] == "unknown"
    assert sick["faults"][0]["message"].startswith("could not be shown: IndexError: a fault")
    assert Path(sick["faults"][0]["report"]).is_file()
    assert well["level"] == "ok"
    assert not well["faults"]
    assert sick.keys() == well.keys()


def test_where_no_report_can_be_written_the_fault_is_told(
    cli: Cli, two: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    break_in(monkeypatch, *PLACES["rules"])
    found = cli("check", two)
    assert found.code == 70
    assert "could not be judged: IndexError" in found.err
    assert "report:" not in found.err


@pytest.mark.parametrize("steps", [[1] * 20, [0] * 20], ids=["step 1", "step 0"])
def test_a_log_whose_step_stands_still(cli: Cli, tmp_path: Path, steps: list[int]) -> None:
    log = tmp_path / "job.log"
    log.write_text("".join(f"step:{s} - loss:{i / 10}\n" for i, s in enumerate(steps)))
    found = cli("check", log)
    assert found.code in (0, 1)
    assert not found.err


@pytest.mark.parametrize("verb", ["check {}", "check --json {}", "export {}"])
def test_a_decoder_that_fails_costs_its_file(
    cli: Cli, two: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    works = JsonLinesDecoder._feed

    def broken(self: JsonLinesDecoder, data: bytes, *, more: bool) -> Decoded:
        if b"marked" in data:
            raise IndexError("a fault of a decoder")
        return works(self, data, more=more)

    monkeypatch.setattr(JsonLinesDecoder, "_feed", broken)
    with (two / "sick" / "a.jsonl").open("a") as log:
        log.write('{"step": 41, "marked": 1}\n')
    found = cli(*(str(two) if w == "{}" else w for w in verb.split()))
    assert "well" in found.out
    assert "a.jsonl" in found.out + found.err
    assert "cannot be read further: IndexError" in found.out + found.err
    assert "Traceback" not in found.err


def test_a_detector_that_fails_costs_its_rule(
    cli: Cli, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    advance = Engine.advance

    def named(self: Engine, run: Any, *rest: Any, **options: Any) -> Any:
        judged.append(run.key.name)
        return advance(self, run, *rest, **options)

    def broken(*_: Any, **__: Any) -> bool:
        if "sick" in judged[-1]:
            raise IndexError("a fault of a detector")
        return True

    monkeypatch.setattr(Engine, "advance", named)
    monkeypatch.setattr(Detector, "may_find", broken)
    found = cli("check", two)
    assert "✔ well" in found.out
    assert "IndexError: a fault of a detector" in found.out
    assert found.out.index("this rule broke") < found.out.index("✔ well")
    assert "Traceback" not in found.err


@pytest.mark.parametrize("place", ["store", "names", "rules"])
def test_following_goes_on(
    cli: Cli, two: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The other run's end is told, and served."""
    (two / "well" / "a.jsonl").write_text(
        "".join(
            f'{{"step": {s}, "actor/entropy": {2.0 if s < 40 else "NaN"}}}\n' for s in range(60)
        )
    )
    break_in(monkeypatch, *PLACES[place])
    works = check.updates

    def few(session: Session, **options: Any) -> Iterator[None]:
        turns = works(session, **options)
        yield from islice(turns, 3)
        turns.close()

    monkeypatch.setattr(check, "updates", few)
    monkeypatch.setattr(serve_metrics, "updates", few)
    found = cli("check", "--follow", two)
    assert "well" in found.out
    assert "not finite" in found.out.lower() or "nan" in found.out.lower()
    assert found.code in (1, 70)
    assert "Traceback" not in found.err
    served = cli("serve-metrics", "--listen", "127.0.0.1:0", two)
    assert served.code == 0
    assert "Traceback" not in served.err

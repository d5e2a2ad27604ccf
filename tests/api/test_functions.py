"""read, judge and follow. The blocks of docs/api.md, run in their order."""

import inspect
import json
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints, is_typeddict

import numpy as np
import pytest

import rltui
from rltui import api
from rltui.cli import main
from rltui.output.json_document import EventDocument
from rltui.output.verdict_types import RunVerdict
from tests.formats.encode import event, header, simple

LABELLED = Path(__file__).parents[1] / "fixtures" / "labelled"
TRL = LABELLED / "trl"


def log(directory: Path, *rows: dict[str, float | None]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return directory


def write_events(directory: Path, number: int, loss: dict[int, float]) -> None:
    """An event file with values by step."""
    directory.mkdir(parents=True, exist_ok=True)
    begin = 1_700_000_000 + 100 * number
    rows = [event(s, float(begin + s), simple(b"loss", v)) for s, v in loss.items()]
    (directory / f"events.out.tfevents.{begin}.host").write_bytes(header() + b"".join(rows))


# -- the names ------------------------------------------------------------------------------------


def test_the_public_names_and_their_parameters_stay() -> None:
    assert set(rltui.__all__) == {
        *("RltuiError", "Runs", "Verdicts", "__version__", "follow", "judge", "read")
    }
    assert set(rltui.__all__) <= set(dir(rltui)), "a Python shell completes them"
    common = ["logdir", "run", "framework", "algorithm"]
    expected = {
        rltui.read: [*common, "config"],
        rltui.judge: [*common, "reference", "config"],
        rltui.follow: [*common, "config", "stop"],
        rltui.Runs.frame: ["self", "shape", "library"],
        api.Run.frame: ["self", "shape", "library"],
    }
    for function, names in expected.items():
        assert list(inspect.signature(function).parameters) == names
    assert list(inspect.signature(api.Points).parameters) == [
        *("tag", "steps", "wall_times", "values", "superseded")
    ]


def test_importing_rltui_imports_nothing_of_the_api() -> None:
    code = "import rltui, sys; print([m for m in sys.modules if m.startswith('rltui.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['rltui.version']"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'reed'"):
        rltui.reed  # type: ignore[attr-defined] # noqa: B018


# -- read -----------------------------------------------------------------------------------------


def test_a_run_is_a_mapping_of_columns(tmp_path: Path) -> None:
    log(tmp_path / "a", {"step": 1, "loss": 3.0}, {"step": 2, "loss": None}, {"step": 3, "loss": 1})
    runs = rltui.read(tmp_path)
    run = runs["a"]
    assert runs.names == ("a",)
    assert list(run) == ["loss"] == list(run.tags)
    assert run["loss"].steps.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(run["loss"].values, [3, np.nan, 1])
    assert np.isnan(run["loss"].wall_times).all()
    assert run["loss"].superseded is None
    with pytest.raises(ValueError, match="read-only"):
        run["loss"].values[0] = 0
    with pytest.raises(KeyError):
        run["lost"]
    with pytest.raises(KeyError):
        runs["b"]


def test_a_metric_of_the_catalogue_is_a_key() -> None:
    run = rltui.read(TRL, run="kto_healthy")[0]
    assert (run.framework, run.algorithm) == ("trl", "KTO")
    assert run.metrics["kl.kto"] == "train/kl"
    assert "kl.kto" in run
    assert run["kl.kto"].steps.tolist() == run["train/kl"].steps.tolist()


def test_points_show_their_count_and_their_ends(tmp_path: Path) -> None:
    rows = ({"step": n, "loss": 0.5 if n == 1 else 0.25} for n in range(1, 202))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    points = rltui.read(tmp_path)[0]["loss"]
    assert repr(points) == "<Points loss: 201 points, 0.5 at step 1 to 0.25 at step 201>"
    one = replace(points, steps=points.steps[:1], values=points.values[:1])
    assert repr(one) == "<Points loss: 1 point, 0.5 at step 1>"
    assert repr(replace(one, steps=one.steps[:0])) == "<Points loss: none>"


def test_several_logdirs_are_one_list(tmp_path: Path) -> None:
    log(tmp_path / "x" / "a", {"step": 1, "loss": 3.0})
    log(tmp_path / "y" / "a", {"step": 1, "loss": 4.0})
    runs = rltui.read([tmp_path / "x", str(tmp_path / "y")])
    assert runs.names == (f"{tmp_path}/x/a", f"{tmp_path}/y/a")
    assert runs["y/a"]["loss"].values.tolist() == [4.0]


def test_what_a_resumed_run_overwrote_is_kept_apart(tmp_path: Path) -> None:
    write_events(tmp_path / "a", 0, {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0})
    write_events(tmp_path / "a", 1, {2: 20.0, 3: 30.0})
    points = rltui.read(tmp_path)["a"]["loss"]
    assert points.values.tolist() == [1, 20, 30]
    assert points.steps.tolist() == [1, 2, 3]
    assert points.superseded.steps.tolist() == [2, 3, 4]


def test_damage_is_a_note(tmp_path: Path) -> None:
    directory = log(tmp_path / "a", {"step": 1, "loss": 3.0}, {"step": 2, "loss": 3.0})
    with (directory / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "lo\n{"step": 4, "loss": 2.0}\n')
    (note,) = rltui.read(tmp_path).notes
    assert note["path"] == str(directory / "metrics.jsonl")
    assert note["offset"] is not None
    assert note["level"] == "watch"


def test_what_the_program_refuses_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(rltui.RltuiError, match="no such file"):
        rltui.read(tmp_path / "gone")
    with pytest.raises(rltui.RltuiError, match="verl"):
        rltui.read(TRL, framework="verll")


# -- judge ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trl", "verl", "sb3"])
def test_verdicts_are_the_json_of_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--json", str(LABELLED / name)])
    printed = json.loads(capsys.readouterr().out)
    verdicts = rltui.judge(LABELLED / name)
    assert list(verdicts) == verdicts.document["runs"]
    for document in (printed, verdicts.document):
        document["as_of"] = None
    assert verdicts.document == printed
    assert verdicts.level == printed["level"]
    assert verdicts.notes == []
    assert verdicts[0] == verdicts[:1][0]


def test_every_field_of_a_verdict_has_a_type() -> None:
    seen: set[str] = set()
    for directory in LABELLED.iterdir():
        if directory.is_dir():
            for verdict in rltui.judge(directory):
                _has_the_fields(verdict, RunVerdict, seen)
    assert {"RunVerdict", "FindingDocument", "DiagnosisDocument", "CheckDocument"} <= seen


def _has_the_fields(document: Any, form: Any, seen: set[str]) -> None:
    hints = get_type_hints(form)
    assert document.keys() == hints.keys(), form.__name__
    seen.add(form.__name__)
    for key, hint in hints.items():
        for inner in (hint, *getattr(hint, "__args__", ())):
            if not is_typeddict(inner):
                continue
            value = document[key]
            items = value if isinstance(value, list) else [value] if value is not None else []
            for item in items:
                _has_the_fields(item, inner, seen)


# -- follow ---------------------------------------------------------------------------------------


def test_events_are_typed_and_end_when_told(tmp_path: Path) -> None:
    rows = [{"step": s, "loss": 1.0} for s in range(1, 20)]
    log(tmp_path / "a", *rows, {"step": 20, "loss": float("nan")})
    stop = threading.Event()
    found: list[EventDocument] = []
    for change in rltui.follow(tmp_path, stop=stop):
        found.append(change)
        stop.set()
    assert {e["event"] for e in found} == {"fired"}
    assert any(e["rule"].startswith("nan") or "nan" in e["summary"].lower() for e in found)
    assert found[0].keys() == get_type_hints(EventDocument).keys()


def test_closing_the_generator_ends_the_reader() -> None:
    before = {*threading.enumerate()}
    events = rltui.follow(TRL)
    assert next(events)["event"] in ("fired", "finished")
    events.close()
    left = {*threading.enumerate()} - before  # one may be in the middle of a read
    assert not any(thread.join(60) or thread.is_alive() for thread in left)


ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_the_blocks_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = _BLOCK.findall((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    (tmp_path / "runs").symlink_to(ROOT / "tests/fixtures/labelled/trl")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        if ".frame(" in block:
            pytest.importorskip("pandas", reason="pandas is not installed")
        exec(compile(block, "docs/api.md", "exec"), names)
    printed = capsys.readouterr().out
    assert len(blocks) == 5
    for words in ("'sft_healthy'", "trl SFT", "bad", "fired", "no such file"):
        assert words in printed

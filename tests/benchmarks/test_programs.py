"""Benchmarks of a program that runs, at a tiny scale: live, many runs, for long.

The benchmark of verdicts: labels, score, a peer.
The benchmarks run at a tiny scale: sets, readers and tables.
"""

import csv
import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import data, live, many, samples
from benchmarks.against import is_worse, of_rows
from benchmarks.data import NAME
from benchmarks.read import cost_table, cpu_table, measure, ratio_table, report
from benchmarks.soak import Sample, Soak, Training, points_in, slope
from benchmarks.terminal import Program, Screen, quiet_home
from benchmarks.verdicts.across import figures, headline
from benchmarks.verdicts.labels import (
    Failure,
    Label,
    by_origin,
    is_sealed,
    judged_rules,
    origin,
    read_labels,
)
from benchmarks.verdicts.noise import HEAD, RESULT, ROWS, examples, power, usual
from benchmarks.verdicts.peer import score_peer
from benchmarks.verdicts.replay import Judge, Said
from benchmarks.verdicts.score import Scored, alarms_of, cuts, met_by, score
from rltui.sources import Reader
from rltui.sources.options import ReaderOptions
from tests.clock import ManualClock
from tests.formats import encode


def test_screen_moves_writes_and_erases() -> None:
    screen = Screen(3, 10)
    whole = "\x1b[?1049h\x1b[2J\x1b[2;3Hab\x1b[31mc\x1b[0m\r\nx\x1b[1;1H\x1b]0;title\x07top\x1b[A"
    for char in whole:
        screen.feed(char)
    assert screen.text == "top\n  abc\nx"
    screen.feed("\x1b[2;4H\x1b[K\x1b[3;1Hyy\x1b[1;9Hlong line")
    assert screen.text == "top     lo\n  a\nyy"


def test_a_program_and_its_screen(tmp_path: Path) -> None:
    code = "import time; print('ready'); print(input()[::-1]); time.sleep(9)"
    with Program([sys.executable, "-c", code], quiet_home(tmp_path)) as program:
        assert program.until(lambda text: "ready" in text, 20) < 20
        program.send(b"abc\n")
        program.until(lambda text: "cba" in text, 20)
        assert program.written >= 13
        assert 0 < program.cpu < 10
        assert program.memory > 1
        with pytest.raises(TimeoutError):
            program.until(lambda text: "never" in text, 0.05)


def test_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_QUIET_S", 0.1)
    live.main(["--data", str(tmp_path), "--seconds", "1", "--appends", "1", "--only", "append"])
    printed = capsys.readouterr().out
    assert "append to screen, polled, 1 appends" in printed
    assert "failed" not in printed


def test_logs_that_grow_are_restored(tmp_path: Path) -> None:
    root = many.make_runs(tmp_path / "runs", 2)
    logs = sorted(root.rglob(NAME))
    before = [(log.read_bytes(), log.stat().st_mtime) for log in logs]
    with many._growing(root) as (paths, grow):
        for path in paths:
            grow(path, 0)
        assert all(len(log.read_bytes()) > len(b) for log, (b, _) in zip(logs, before, strict=True))
    assert [(log.read_bytes(), log.stat().st_mtime) for log in logs] == before


def test_the_start_of_few_and_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "_FEW", 2)
    many.main(["--data", str(tmp_path), "--runs", "4", "--rounds", "1", "--only", "start"])
    printed = capsys.readouterr().out
    assert "4 runs, search: CPU s" in printed
    assert "first paint less the search, many against few" in printed


def test_points_are_counted(tmp_path: Path) -> None:
    soak = Soak(tmp_path, 8, 1.0, None)
    assert points_in(soak.logdir) == soak.points == 8 * 20 * 50
    reader = Reader([soak.logdir], ReaderOptions(ManualClock()))
    blocks = [b for batch in reader.read_all() for b in batch.blocks]
    assert sum(b.values.size for b in blocks) == soak.points


def test_accidents_lose_no_count(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    trainings = [Training(tmp_path / "logs", number) for number in range(8)]
    for _ in range(40):
        for training in trainings:
            training.accident()
            training.write_row()
    assert [t.points for t in trainings] == [(20 + 40) * 50] * 8
    assert 0 < points_in(tmp_path / "logs") <= 8 * 60 * 50


def test_a_figure_is_worse_beyond_a_tenth_and_the_spread_of_its_rounds() -> None:
    rows = [("keys: ms", "1,012 / 30.5", "10 / 16"), ("bytes", "", "")]
    assert dict(of_rows(iter(rows))) == {"keys: ms (1 of 2)": 1012, "keys: ms (2 of 2)": 30.5}
    assert is_worse([1.0, 1.2], [1.4, 1.3])
    assert not is_worse([1.0, 1.4], [1.3, 1.9])
    assert not is_worse([1.0, 1.1], [1.12, 1.15])


def test_slope() -> None:
    samples = [Sample(1000 * n, 100 + 8 * 1000 * n / 2**20, 10, 3) for n in range(20)]
    assert slope(samples) == pytest.approx(8, rel=1e-6)


LABELLED = Path(__file__).resolve().parents[1] / "fixtures" / "labelled"
LABELS = read_labels(LABELLED)


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@pytest.mark.parametrize("label", LABELS, ids=[x.name for x in LABELS])
def test_a_labelled_run_is_judged_as_labelled(label: Label, judge: Judge) -> None:
    scored = score(label, judge, judged_rules(LABELS), quick=True)
    assert not scored.unreadable
    assert set(scored.hits) == {s.rule for s in label.failures}
    assert scored.alarms == {}


def a_label(*sick: Failure, healthy: bool = False, allowed: str = "") -> Label:
    rules = {s.rule for s in sick} | set(allowed.split())
    return Label(Path("x"), "x", "verl", 100, healthy, sick, frozenset(rules))


def test_a_finding_long_before_the_failure_does_not_meet_it() -> None:
    label = a_label(Failure("kl_blowup", 80, None))
    early, right = Said("kl_blowup", True, 10), Said("kl_blowup", True, 75)
    ((_, met),) = met_by(label, [early, right])
    assert met == [right]


def test_a_tolerated_rule_is_no_alarm() -> None:
    label = a_label(healthy=True, allowed="critic_failing")
    said = [Said("critic_failing", False, 1), Said("kl_blowup", True, 1)]
    assert alarms_of(label, said, frozenset()) == {"kl_blowup": True}


def test_the_prefixes_end_with_the_whole_run() -> None:
    assert cuts(0.25) == (0.25, 0.5, 0.75, 1.0)
    assert len(cuts(0.005)) == 200
    assert cuts(0.3) == (0.3, 0.6, 1.0)


def test_a_run_appears_later_by_prefixes(judge: Judge) -> None:
    (label,) = [x for x in LABELS if x.name == "verl/grpo_lr_nan"]
    scored = score(label, judge, judged_rules(LABELS))
    assert 0.0 <= scored.delays["nan"] <= 0.2
    assert "every 2nd row" in scored.form_hits


def test_a_peer_is_read_generously(tmp_path: Path) -> None:
    said = [
        {"detector": "kl_drift", "severity": "CRITICAL"},
        {"detector": "plateau", "severity": "WARNING"},
        {"detector": "entropy_collapse", "severity": "INFO"},
    ]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.jsonl").write_text("{}\n")
    program = tmp_path / "doctor"
    (tmp_path / "said").write_text(json.dumps({"findings": said}))
    program.write_text(f"#!/bin/sh\ncat '{tmp_path}/said'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    sick = Failure("kl_blowup", 1, None)
    label = Label(tmp_path / "run", "run", "verl", 10, False, (sick,), frozenset({"kl_blowup"}))
    scored = score_peer(label, program)
    assert not scored.unreadable
    assert scored.hits == {"kl_blowup": True}
    assert scored.alarms == {"reward_flat_no_learning": False}


def test_every_variant_was_measured_on_noise(judge: Judge) -> None:
    """After a change of the rules: ``python -m benchmarks.verdicts.noise --write``."""
    with RESULT.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert tuple(head) == HEAD
    measured = {row[0] for row in rows}
    variants = [v for rule in judge.rules for v in rule.variants]
    assert measured == {v.id for v in variants} - {"own_range"}, "a user gives its limits"


def test_power_is_measured_on_the_examples_of_the_rules(judge: Judge) -> None:
    variants = [(v, examples(r, v)) for r in judge.rules for v in r.variants]
    found = [(v, known) for v, known in variants if known is not None]
    assert len(found) > len(variants) / 2
    variant, known = next(x for x in found if x[0].id == "entropy_collapse.token")
    shares = power(variant, known, 4)
    whole = shares[-len(ROWS) :]
    assert max(whole) == 1.0
    assert sum(shares[: len(ROWS)]) <= sum(whole)


def test_noise_has_a_scale(judge: Judge) -> None:
    example = {"": np.array([4.0, 4.0, 5.0]), "reward": np.zeros(3)}
    for variant in (v for rule in judge.rules for v in rule.variants):
        scales = usual(variant, example)
        assert scales.keys() == example.keys()
        assert all(np.isfinite(centre) and spread > 0 for centre, spread in scales.values())
        assert usual(variant, None).keys() == {"", *variant.roles}


@pytest.mark.parametrize("name", data.SHAPES)
def test_every_set_holds_the_points_that_it_says(name: str, tmp_path: Path) -> None:
    made = data.make(tmp_path, name, 0.002)
    batches = list(Reader([made.root]).read_all())
    assert sum(b.points for batch in batches for b in batch.blocks) == made.points
    assert not any(b.notes for b in batches)
    assert data.make(tmp_path, name, 0.002) == made


@pytest.mark.parametrize("name", ["a", "c", "t", "m", "x", "y", "w"])
def test_event_sets_have_right_checksums(name: str, tmp_path: Path) -> None:
    made = data.make(tmp_path, name, 0.004)
    batches = list(Reader([made.root], ReaderOptions(verify=True)).read_all())
    assert sum(b.points for batch in batches for b in batch.blocks) == made.points


def test_records_are_those_of_an_ordinary_writer() -> None:
    kinds = [data.scalar("a/b"), data.tensor("t")]
    steps = np.array([0, 5, 127, 128, 70_000])
    walls, values = 1.78e9 + steps, np.array([1.5, -2.0, 0.25, np.inf, 3.0])
    got = data.encode(kinds, np.array([0, 1, 0, 1, 0]), steps, walls, values)
    content = encode.event(5, walls[1], encode.content_tensor(b"t", -2.0))
    first = encode.event(0, walls[0], encode.simple(b"a/b", 1.5))
    assert got.startswith(first)
    found = encode.reference(got)
    assert [p[0] for p in found["a/b"]] == [0, 127, 70_000]
    assert [p[0] for p in found["t"]] == [5, 128]
    assert encode.reference(content)["t"] == found["t"][:1]


def test_rounds_and_tables(tmp_path: Path) -> None:
    made = [data.make(tmp_path, name, 0.002) for name in ("c", "j20")]
    chosen = ["rltui", "rltui, store", "orjson.loads", "read()"]
    results = measure([(m, m) for m in made], 1, 1, None, chosen)
    assert [set(r.cells) for r in results] == [{"rltui", "rltui, store", "read()"}, set(chosen)]
    for lines in (cpu_table(results), ratio_table(results), cost_table(results)):
        assert len(lines) == 4
        assert len({line.count("|") for line in lines}) == 1
    text = report(results, None, "c j20")
    assert "nan" not in text
    assert "no C compiler" in text


def test_origins_and_which_are_sealed(tmp_path: Path) -> None:
    made = "https://github.com/Owner/repository: a run"
    assert origin("public2", "verl 0.7.1", made) == "verl owner"
    assert origin("public", "TRL, own loop", "by hand") == "trl public"
    assert origin("dev", "sb3/PPO", made) == "sb3 dev"
    names = [f"framework {number}" for number in range(300)]
    assert 70 < sum(map(is_sealed, names)) < 130
    assert is_sealed("sb3 dev") == is_sealed("sb3 dev")

    folder = tmp_path / "dev"
    folder.mkdir()
    (folder / "labels.yaml").write_text(
        "\n".join(f"- {{path: r{n}, framework: f{n}, steps: 9, healthy: true}}" for n in range(30)),
        encoding="utf-8",
    )
    kept, aside = by_origin([folder], sealed=False), by_origin([folder], sealed=True)
    assert len(kept) + len(aside) == 30
    assert all(map(is_sealed, aside))
    assert not any(map(is_sealed, kept))


def test_figures_of_an_origin() -> None:
    failure = Failure("nan", 5, None)
    sick = Label(Path("a"), "a", "f", 9, False, (failure,), frozenset({"nan"}))
    well = Label(Path("b"), "b", "f", 9, True, (), frozenset())
    scored = [Scored(sick, hits={"nan": True}), Scored(well, alarms={"kl_blowup": False})]
    expected = ("x", "2", "100 % (1 of 1)", "100 % (1 of 1)", "50 % (1 of 2)", "1", "1", "0")
    assert figures("x", scored) == expected


def test_the_headline_has_a_column_for_the_sealed_origins_once_they_are_judged() -> None:
    failure = Failure("nan", 5, None)
    sick = Label(Path("a"), "a", "f", 9, False, (failure,), frozenset({"nan"}))
    names = [f"framework {number}" for number in range(20)]
    kept, aside = (next(n for n in names if is_sealed(n) == sealed) for sealed in (False, True))
    scored = {kept: [Scored(sick, hits={"nan": True})], aside: [Scored(sick)]}
    without = {kept: [Scored(sick)]}
    lines = headline(without, scored, quick=True)
    assert lines[0] == "| what | without itself | open origins | sealed third | all |"
    assert "| recall | 0 % (0 of 1) | 100 % (1 of 1) | 0 % (0 of 1) | 50 % (1 of 2) |" in lines
    alone = headline(without, {kept: scored[kept]}, quick=True)
    assert alone[0] == "| what | without itself | open origins |"
    assert "| origins, with a missed failure, a false alarm | 1, 1, 0 | 1, 0, 0 |" in alone


def test_the_samples_of_a_step_are_read_in_every_form() -> None:
    pytest.importorskip("pyarrow")
    lines = list(samples.measured(16))
    assert [" 16 trajectories" in line for line in lines] == [True] * 3

"""Going through the samples of a run, and the texts that it logged."""

import json
from pathlib import Path

import pytest

from rltui.core.address import PIPE
from rltui.core.batch import RunKey, TextPoint
from rltui.facts.samples import FILTERS, HIGH_WRONG, SampleBrowser, folders_of, passing, root_of
from rltui.session import JudgedRun
from rltui.session import hyperparameters as texts_module
from rltui.session.hyperparameters import Texts
from rltui.sources.side_files.sample_files import SampleSet
from rltui.sources.side_files.trajectory import (
    FAILED,
    GARBLED,
    TRUNCATED,
    Sample,
    SampleRow,
    SampleTable,
)
from tests.builders import a_batch
from tests.fakes import a_session, grpo_batch


def a_view(*texts: TextPoint) -> JudgedRun:
    (view,) = a_session(grpo_batch(20, texts=texts)).runs()
    return view


def a_text(step: int, text: str, tag: str = "val/generations") -> TextPoint:
    return TextPoint(tag, step, 0.0, text)


def write_step(root: Path, step: int, *rewards: float, name: str = "rollouts") -> None:
    (root / name).mkdir(exist_ok=True)
    rows = [{"prompt": "p", "completion": f"c{r}", "reward": r} for r in rewards]
    text = "".join(json.dumps(r) + "\n" for r in rows)
    (root / name / f"{step}.jsonl").write_text(text, encoding="utf-8")


def settle(browser: SampleBrowser, row: SampleRow | None = None, now: float = 0.0) -> int:
    """Read what the browser wants until it wants nothing; returns how much that was."""
    count = 0
    while (read := browser.request(row, now)) is not None:
        read()()
        count += 1
        assert count < 10
    return count


def test_the_newest_step_is_shown_and_followed(tmp_path: Path) -> None:
    for step in (5, 10):
        write_step(tmp_path, step, 0.5, 0.1)
    run = a_view()
    browser = SampleBrowser(run, lambda: tmp_path, None)
    assert settle(browser) == 2
    assert (browser.step, browser.steps) == (10, [5, 10])
    assert [r.reward for r in browser.rows] == [0.5, 0.1]
    write_step(tmp_path, 15, 0.9)
    assert settle(browser, now=60.0) == 0, "nothing when the run has nothing new"
    run.version += 1
    assert settle(browser, now=5.0) == 0, "not at every row"
    settle(browser, now=60.0)
    assert browser.step == 15
    assert [r.reward for r in browser.rows] == [0.9]


def test_a_file_that_grows_is_read_again_and_one_that_does_not_is_not(tmp_path: Path) -> None:
    write_step(tmp_path, 5, 0.5)
    run = a_view()
    browser = SampleBrowser(run, lambda: tmp_path, None)
    settle(browser)
    run.version += 1
    assert settle(browser, now=60.0) == 1
    write_step(tmp_path, 5, 0.5, 0.7)
    run.version += 1
    assert settle(browser, now=120.0) == 2
    assert len(browser.rows) == 2


def test_a_file_that_is_replaced_while_it_is_read_in_part_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.facts.samples._FIRST_S", 0.0)
    write_step(tmp_path, 5, *[0.5] * 600)
    run = a_view()
    browser = SampleBrowser(run, lambda: tmp_path, None)
    for _ in range(2):
        read = browser.request(None, 0.0)
        assert read is not None
        read()()
    assert len(browser.rows) == 256
    (tmp_path / "rollouts" / "5.jsonl").unlink()  # what is open stays readable
    write_step(tmp_path, 5, 0.7)
    settle(browser)
    run.version += 1
    settle(browser, now=60.0)
    assert [r.reward for r in browser.rows] == [0.7]


def test_a_whole_sample_is_read_when_it_is_wanted(tmp_path: Path) -> None:
    write_step(tmp_path, 5, 0.5, 0.25)
    browser = SampleBrowser(a_view(), lambda: tmp_path, None)
    settle(browser)
    row = browser.rows[1]
    assert browser.sample(row) is None
    assert settle(browser, row) == 1
    found = browser.sample(row)
    assert found.texts == (("prompt", "p"), ("completion", "c0.25"))
    (tmp_path / "rollouts" / "5.jsonl").unlink()
    settle(browser, browser.rows[0])
    assert "cannot be read" in str(browser.sample(browser.rows[0]))


def test_a_step_that_was_left_meanwhile_shows_nothing_of_it(tmp_path: Path) -> None:
    for step in (5, 10):
        write_step(tmp_path, step, step / 10)
    browser = SampleBrowser(a_view(), lambda: tmp_path, None)
    find = browser.request(None, 0.0)
    assert find is not None
    find()()
    load = browser.request(None, 0.0)
    assert load is not None
    take = load()
    browser.step_by(-1)
    take()
    assert list(browser.rows) == []
    settle(browser)
    assert [r.reward for r in browser.rows] == [0.5]


def test_texts_of_the_logs_stand_behind_files(tmp_path: Path) -> None:
    write_step(tmp_path, 5, 0.5)
    texts = (a_text(3, "three\nlines\nlong"), a_text(7, "x"), a_text(1, "{}", "args/text_summary"))
    browser = SampleBrowser(a_view(*texts), lambda: tmp_path, None)
    settle(browser)
    assert [k.name for k in browser.kinds or ()] == ["rollouts", "val/generations"]
    browser.kind_by(1)
    settle(browser)
    assert (browser.step, browser.steps) == (7, [3, 7])
    browser.step_by(-1)
    settle(browser)
    (row,) = browser.rows
    assert row.preview == "three lines long"
    settle(browser, row)
    assert browser.sample(row) == Sample((("val/generations", "three\nlines\nlong"),), ())


def test_texts_stay_within_bounds_and_go_with_their_file() -> None:
    texts, other = Texts(), Texts()
    for step in range(30):
        texts.add(a_batch(texts=(a_text(step, "x" * 400_000),)))
    (found,) = texts.sets()
    assert found.steps == list(range(20, 30))
    texts.add(a_batch(texts=(a_text(99, "y"),), source="events.1"))
    texts.move(a_batch().source.path, other)
    assert [s.steps for s in texts.sets()] == [[99]]
    assert [s.steps for s in other.sets()] == [list(range(20, 30))]


def test_files_of_other_runs_are_not_those_of_a_run(tmp_path: Path) -> None:
    def run_at(name: str) -> JudgedRun:
        view = a_view()
        view.data.key, view.data.path = RunKey(0, name), tmp_path / name
        view.data.path.mkdir(parents=True)
        return view

    one, two = run_at("one/runs/x"), run_at("two/runs/x")
    assert root_of(one, [one, two], tmp_path) == tmp_path / "one"
    assert root_of(one, [one], tmp_path) == tmp_path
    assert folders_of(one, [one, two], tmp_path) == [
        tmp_path / "one",
        tmp_path / "one/runs",
        tmp_path / "one/runs/x",
    ]
    assert root_of(one, [one], PIPE) == PIPE
    assert folders_of(one, [one], PIPE) == []
    inner = run_at("one/runs/x/inner")
    assert root_of(inner, [one, inner], tmp_path) == tmp_path / "one/runs/x/inner"


def test_a_text_stays_itself_while_older_ones_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts_module, "_MOST", 6)
    view = a_view(*(a_text(s, f"text {s}") for s in range(1, 7)))
    browser = SampleBrowser(view, lambda: tmp_path, 3)
    settle(browser)
    (row,) = browser.rows
    view.texts.add(a_batch(texts=(a_text(7, "text 7"), a_text(8, "text 8"))))
    view.version += 1
    settle(browser, row, now=60.0)
    assert browser.sample(row) == Sample((("val/generations", "text 3"),), ())
    for step in range(9, 13):
        view.texts.add(a_batch(texts=(a_text(step, "later", tag="other"),)))
    (held,) = (k for k in browser.kinds or () if k.name == "val/generations")
    assert held.read(3, row).texts[0][1] == "text 3", "what was listed can be read"
    now = next(k for k in view.texts.sets() if k.name == "val/generations")
    with pytest.raises(ValueError, match="newer texts"):
        now.read(3, row)


def test_kinds_of_one_name_stay_apart(tmp_path: Path) -> None:
    folder = tmp_path / "completions"
    folder.mkdir()
    for name in ("completions.jsonl", "completions_00012.jsonl"):
        row = {"step": 12, "prompt": "p", "completion": name}
        (folder / name).write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "rollouts").mkdir()
    (tmp_path / "rollouts" / "3.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    view = a_view(a_text(3, "logged", tag="rollouts"))
    browser = SampleBrowser(view, lambda: tmp_path, None)
    settle(browser)
    assert browser.names == [
        "completions/completions.jsonl",
        "completions/completions_*.jsonl",
        "rollouts (files)",
        "rollouts (logged)",
    ]
    for kind, preview in enumerate(("completions.jsonl", "completions_00012.jsonl")):
        assert (browser.kind, [r.preview for r in browser.rows]) == (kind, [preview])
        view.version += 1
        settle(browser, now=60.0 * (kind + 1))
        assert (browser.kind, [r.preview for r in browser.rows]) == (kind, [preview])
        browser.kind_by(1)
        settle(browser)


def test_the_texts_of_all_runs_stay_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "_MAX_BYTES_OF_ALL", 1_000_000)
    batches = [
        grpo_batch(20, run=f"r{n}", texts=tuple(a_text(s, "x" * 100_000) for s in range(4)))
        for n in range(5)
    ]
    runs = a_session(*batches).runs()
    assert sum(r.texts.nbytes for r in runs) <= 1_000_000
    for run in runs:
        (found,) = run.texts.sets()
        assert found.steps[-1] == 3, "the newest of each run is kept"
    runs[0].texts.move(a_batch().source.path, runs[1].texts)
    assert sum(r.texts.nbytes for r in runs) <= 1_000_000


def a_row(n: int, reward: float, right: bool | None, *marks: str, prompt: int = 0) -> SampleRow:
    return SampleRow(n, 0, None, reward, 1, "", right=right, marks=marks, prompt=prompt)


def test_the_filters_find_what_is_wrong() -> None:
    rows = [
        a_row(0, 1.2, False),
        a_row(1, 1.0, True),
        a_row(2, 0.1, False, TRUNCATED),
        a_row(3, 0.9, None, FAILED, GARBLED),
    ]
    assert [[r.position for r in passing(rows, name)] for name in FILTERS] == [[0], [2], [3], [3]]
    hacked = [a_row(n, 1.2, False) for n in range(3)]
    assert passing(hacked, HIGH_WRONG) == hacked, "the mean is a high reward, too"
    assert passing([a_row(n, 0.0, False) for n in range(3)], HIGH_WRONG) == []
    assert passing([], HIGH_WRONG) == []


def test_one_prompt_is_followed_over_the_steps_that_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step, prompts in {1: "ab", 2: "b", 3: "ab", 4: "b"}.items():
        rows = [{"prompt": p, "completion": "c", "reward": step / 10} for p in prompts * 2]
        path = tmp_path / "rollouts" / f"{step}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    read: list[int | None] = []
    load = SampleSet.load

    def counted(of: SampleSet, step: int | None, *more: float) -> SampleTable:
        read.append(step)
        return load(of, step, *more)

    monkeypatch.setattr(SampleSet, "load", counted)
    browser = SampleBrowser(a_view(), lambda: tmp_path, 3)
    settle(browser)
    assert read == [3], "nothing is read before it is looked at"
    browser.prompt = browser.rows[0].prompt
    settle(browser)
    assert sorted(read[1:]) == [1, 2, 3, 4]
    assert browser.over_steps == [(1, pytest.approx(0.1), 2), (3, pytest.approx(0.3), 2)]
    browser.step_by(-1)
    settle(browser)
    assert browser.step == 1
    browser.step_by(1)
    assert browser.step == 3
    browser.prompt = 0
    browser.step_by(1)
    assert browser.step == 4


def test_what_trl_logs_of_the_model_is_no_sample() -> None:
    run = a_view(a_text(0, "{}", "model_config/text_summary"), a_text(0, "{}", "model_config"))
    assert run.texts.sets() == []

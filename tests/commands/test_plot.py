"""plot: which tags, which size, what when there is nothing to draw."""

import json
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from rltui.core.text import cell_width
from tests.commands.conftest import Cli, write_jsonl
from tests.places import ROOT


@pytest.fixture
def curves(tmp_path: Path) -> Path:
    logdir = tmp_path / "logs"
    nan, inf = float("nan"), float("inf")
    tags = {
        "actor/entropy": [0.9, 0.8, 0.7, 0.6],
        "actor/ppo_kl": [0.1, nan, inf, 0.2],
        "below/zero": [-1.0, -2.0, -3.0, -4.0],
        "all/nan": [nan, nan, nan, nan],
        "[red]odd\x1b[31m[/red]": [1.0, 2.0, 3.0, 4.0],
    }
    write_jsonl(logdir / "one.jsonl", tags)
    write_jsonl(logdir / "two.jsonl", {"actor/entropy": [0.5, 0.5, 0.6, 0.6], "x": [1.0] * 4})
    return logdir


def test_one_chart_with_all_runs(cli: Cli, curves: Path) -> None:
    result = cli("plot", curves, "actor/entropy", "--size", "60x15")
    lines = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert len(lines) == 15
    assert max(cell_width(x) for x in lines) <= 60
    assert "actor/entropy" in lines[0]
    assert "one" in result.out
    assert "two" in result.out


def test_lines_are_numbered_for_those_without_colour(cli: Cli, curves: Path) -> None:
    """The legend stands above the curves, which it names by the numbers on them."""
    _, legend, *chart = cli("plot", curves, "actor/entropy", "--size", "60x15").out.splitlines()
    assert legend.split() == ["1", "one", "2", "two"]
    inside = "".join(x.partition("┤")[2] or x.partition("│")[2] for x in chart[1:-3])
    assert inside.count("1") == 2, "the third is below that of the other line"
    assert inside.count("2") == 3
    assert "one" not in inside


def test_several_names_metrics_and_globs(cli: Cli, curves: Path) -> None:
    out = cli("plot", curves, "entropy", "actor/*", "--size", "60x10").out
    titles = [x for x in out.splitlines() if "actor/" in x and "┤" not in x]
    assert [t.split()[-1] for t in titles] == ["actor/entropy", "actor/entropy", "actor/ppo_kl"]


def test_runs_of_several_directories_share_a_chart(cli: Cli, curves: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_jsonl(other / "three.jsonl", {"actor/entropy": [0.1, 0.2, 0.3, 0.4], "y": [1.0] * 4})
    result = cli("plot", curves, other, "actor/entropy", "y", "--size", "60x15")
    assert (result.code, result.err) == (0, "")
    first, second = result.out.split("y   y")
    assert first.count("actor/entropy") == 1
    assert all(f" {name}" in first for name in ("one", "two", "three"))
    assert "three" not in second, "one run alone needs no name"


def test_runs_of_one_name_are_named_by_directory(cli: Cli, curves: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "other" / "one.jsonl", {"actor/entropy": [0.1, 0.2, 0.3, 0.4]})
    out = cli("plot", curves, tmp_path / "other", "actor/entropy", "--size", "60x15").out
    assert "logs/one" in out
    assert "other/one" in out


def test_the_last_name_is_a_tag_even_if_it_exists(cli: Cli, curves: Path, tmp_path: Path) -> None:
    result = cli("plot", curves, tmp_path, "--size", "60x15")
    assert result.code == 2
    assert "no tag or metric" in result.err


def test_an_unknown_tag_names_the_nearest(cli: Cli, curves: Path) -> None:
    result = cli("plot", curves, "actor/entropi")
    assert (result.code, result.out) == (2, "")
    assert result.err == "rltui: no tag or metric 'actor/entropi'; did you mean 'actor/entropy'?\n"


def test_a_log_axis_says_what_it_leaves_out(cli: Cli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", {"mixed": [0.0, -1.0, 5.0, 10.0], "one": [0.0, 1.0, 2.0]})
    mixed = cli("plot", tmp_path, "mixed", "--log").out.splitlines()
    assert mixed[-1] == "log y leaves out what is not above 0: 2 of 4 points"
    one = cli("plot", tmp_path, "one", "--log").out.splitlines()
    assert one[-1] == "log y leaves out what is not above 0: 1 of 3 points"
    assert "leaves out" not in cli("plot", tmp_path, "one").out


def test_nothing_finite_is_explained_in_words(cli: Cli, curves: Path) -> None:
    assert cli("plot", curves, "all/nan").out == "all/nan: no finite value\n"


@pytest.mark.parametrize("size", ["20x5", "1000x1000", "37x11"])
def test_sizes_that_are_allowed(cli: Cli, curves: Path, size: str) -> None:
    result = cli("plot", curves, "below/zero", "--size", size)
    width, height = map(int, size.split("x"))
    lines = result.out.splitlines()
    assert result.code == 0
    assert len(lines) <= height
    assert max(map(cell_width, lines)) <= width


def seeds(logdir: Path, count: int) -> Path:
    for n in range(count):
        level = 1.0 + n % 2
        write_jsonl(
            logdir / f"{'ab'[n % 2]}_s{n // 2}.jsonl", {"loss": [level, level + n / 10] * 20}
        )
    return logdir


def test_groups_are_drawn_by_their_mean(cli: Cli, tmp_path: Path) -> None:
    result = cli("plot", seeds(tmp_path, 4), "loss", "--size", "70x15", "--group-by", "name")
    assert result.code == 0
    assert "a_s* (mean of 2)" in result.out
    assert "b_s* (mean of 2)" in result.out
    assert "a_s0" not in result.out


def test_runs_that_cannot_be_grouped_are_an_error(cli: Cli, tmp_path: Path) -> None:
    result = cli("plot", seeds(tmp_path, 4), "loss", "--group-by", "nam")
    assert result.code == 2
    assert "did you mean 'name'" in result.err
    assert cli("plot", seeds(tmp_path / "two", 2), "loss", "--group-by", "name").code == 2


def test_of_many_runs_the_best_and_the_last_have_lines(cli: Cli, tmp_path: Path) -> None:
    out = cli("plot", seeds(tmp_path, 10), "loss", "--size", "70x15").out
    assert "5 more as a band: lowest, highest" in out
    assert re.findall(r"[ab]_s\d", out) == ["a_s0", "a_s1", "b_s2", "b_s3", "b_s4"]


def test_the_x_axis_counts_time_or_tokens(cli: Cli, tmp_path: Path) -> None:
    for name in ("a", "b"):
        rows = [
            {"step": n, "actor/entropy": 1 / n, "x": n % 7, "timestamp": 1.7e9 + 60 * n}
            for n in range(1, 91)
        ]
        if name == "b":
            rows = [{k: v for k, v in r.items() if k != "timestamp"} for r in rows]
        path = tmp_path / "logs" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))

    def axis(name: str) -> list[str]:
        result = cli("plot", tmp_path / "logs", "actor/entropy", "--x", name, "--size", "80x12")
        assert (result.code, result.err) == (0, "")
        return result.out.splitlines()[-2:]

    assert "step" in axis("step")[-1]
    ticks, unit = axis("relative")
    assert "1h" in ticks
    assert unit.strip() == "time since the start"
    assert ":" in axis("wall")[0]
    assert axis("tokens") == ["actor/entropy: no tokens in the log"]
    assert axis("x")[-1].strip() == "x"
    wrong = cli("plot", tmp_path / "logs", "actor/entropy", "--x", "actor/entropi")
    assert wrong.code == 2
    assert "no metric 'actor/entropi' for --x; did you mean 'entropy'?" in wrong.err


def test_compare_takes_only_some_runs_in_their_order(cli: Cli, curves: Path) -> None:
    result = cli("plot", curves, "actor/entropy", "--compare", "two", "o*", "--size", "60x15")
    assert result.out.index("two") < result.out.index("one")
    alone = cli("plot", curves, "actor/entropy", "--compare", "two", "--size", "60x15")
    assert "one" not in alone.out
    wrong = cli("plot", curves, "actor/entropy", "--compare", "tow")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no run 'tow'; did you mean 'two'?" in wrong.err


def test_another_major_version_of_plotext_is_named(
    cli: Cli, curves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been installed beside rltui: pip only warns."""
    other = ModuleType("plotext")
    other.__dict__["__version__"] = "6.1.0"
    other.__spec__ = ModuleSpec("plotext", None)
    monkeypatch.setitem(sys.modules, "plotext", other)
    result = cli("plot", curves, "actor/entropy")
    assert (result.code, result.out) == (2, "")
    assert result.err == "rltui: plot needs plotext 5, not 6.1.0: install 'plotext>=5.3.2,<6'\n"
    assert '"plotext>=5.3.2,<6"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("verb", ["check", "snapshot", "plot", "export"])
def test_a_choice_of_runs_without_a_match_names_those_there_are(
    cli: Cli, curves: Path, verb: str
) -> None:
    result = cli(verb, curves, *(["x"] if verb == "plot" else []), "--run", "tow")
    assert (result.code, result.out) == (3, "")
    assert result.err == (
        "rltui: no run matches 'tow' (--run); did you mean 'two'?; 2 runs found: one, two\n"
    )

"""What lines of consoles mean: a form with a number that grows, its step, its names and values."""

import re
from pathlib import Path

import pytest

from rltui.formats.console import Console
from tests import places
from tests.formats.consoles import goal, values
from tests.tables import cases, table

#: ``lines``: a form with a number that grows, the step of its row, and the names and values.
#: ``logs``: a log, and all of its points.
CASES = table(__file__)
LINES, LOGS = CASES["lines"], CASES["logs"]


def first_words(line: str | dict[str, str]) -> str:
    text = line if isinstance(line, str) else line["form"]
    return "-".join(re.findall(r"[A-Za-z]+", text))[:40]


@pytest.mark.parametrize("line", LINES, ids=first_words)
def test_lines(line: dict[str, str]) -> None:
    text = "hello\n" + "".join(line["form"].format(n=n) + "\nsome text\n" for n in (1, 2, 3))
    expected: dict[str, list[tuple[int, float]]] = {}
    for n in (1, 2, 3):
        step, _, pairs = line["row"].format(n=n).partition(": ")
        for pair in pairs.split("; "):
            name, _, value = pair.rpartition("=")
            expected.setdefault(name, []).append((int(step), float(value)))
    assert values(text) == expected
    assert Console().claims(Path("x.log"), text.encode())


@cases(__file__, "lines_that_are_no_rows", "form", ids=first_words)
def test_lines_that_are_no_rows(form: str) -> None:
    assert values("".join(form.format(n=n) for n in (4, 4, 8, 100))) == {}


@pytest.mark.parametrize("name", LOGS)
def test_logs(name: str) -> None:
    found = values(LOGS[name]["log"])
    shown = {
        tag: " ".join(f"{step}={value:.15g}" for step, value in ps) for tag, ps in found.items()
    }
    assert "; ".join(f"{tag}: {ps}" for tag, ps in shown.items()) == LOGS[name]["points"]


def test_broken_bytes_line_ends_and_a_byte_order_mark() -> None:
    log = b"\xef\xbb\xbfstep:1 - a:1.0\r\n\xff\xfe\x00\r\nstep:2 - a:2.0\r\n"
    assert values(log) == {"a": [(1, 1.0), (2, 2.0)]}


@cases(__file__, "goals")
def test_goals(name: str, total: int | None) -> None:
    assert goal(LOGS[name]["log"]) == total


@pytest.mark.parametrize("rest", ["loss {x} episode {y}", "loss {x} updates {y}", "{y} loss {x}"])
def test_a_row_does_not_depend_on_the_figures_of_rows_before(rest: str) -> None:
    def rows(first: int) -> list[str]:
        figures = ((n, n / 8, n / 4) for n in range(first, 41))
        return [f"step {n} " + rest.format(x=x, y=f"{y:g}") + "\n" for n, x, y in figures]

    whole, late = values("".join(rows(1))), values("".join(rows(4)))
    assert {t: [p for p in ps if p[0] > 12] for t, ps in whole.items()} == {
        t: [p for p in ps if p[0] > 12] for t, ps in late.items()
    }


def test_a_log_of_mlx_lm() -> None:
    found = values((places.FIXTURES / "console" / "mlx_lm.log").read_bytes())
    assert found["val_loss"] == [(1, 4.609), (20, 3.7), (40, 3.637), (60, 3.613)]
    assert [step for step, _ in found["train_loss"]] == list(range(5, 65, 5))
    assert found["tokens/sec"][-3:] == [(50, 2117.0), (55, 2006.0), (60, 1488.0)]
    assert (found["test_loss"], found["test_ppl"]) == ([(60, 3.638)], [(60, 38.021)])
    assert len(found) == 7

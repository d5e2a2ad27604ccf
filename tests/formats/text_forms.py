"""One run, written in the text forms that people and loggers use.

A form is a function from the rows to the text of its log. ``FORMS`` has all of them by name; each
prints the step, the loss and the reward of every row, and most of them print more.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.tables import table

ROWS = 120
COLLAPSE = 80


class LoggedRow(NamedTuple):
    """What was measured at one step."""

    step: int
    loss: float
    reward: float
    lr: float = 1e-05

    @property
    def clock(self) -> str:
        """The time of day, of one row each minute."""
        return f"{10 + self.step // 60:02}:{self.step % 60:02}:07"


Rows = Sequence[LoggedRow]
Form = Callable[[Rows], str | bytes]


def run_rows(*, healthy: bool) -> list[LoggedRow]:
    """A reward that rises, with noise that repeats; unless ``healthy`` it collapses for good."""
    rows = []
    for step in range(1, ROWS + 1):
        noise = math.sin(7.3 * step) + math.cos(2.1 * step)
        reward = 0.8 - 0.65 * math.exp(-step / 30) + 0.02 * noise
        if not healthy and step > COLLAPSE:
            reward = 0.05 + 0.01 * noise
        loss = 0.2 + 0.6 * math.exp(-step / 40) + 0.01 * math.cos(5.7 * step)
        rows.append(LoggedRow(step, round(loss, 4), round(reward, 4)))
    return rows


def _lines(line: Callable[[LoggedRow], str]) -> Form:
    """A form of one text for each row."""
    return lambda rows: "".join(line(row) + "\n" for row in rows)


def _template(text: str) -> Form:
    """A form by a template with the fields of a row: ``n``, ``loss``, ``reward``, ``lr``, ``t``."""
    return _lines(lambda r: text.format(n=r.step, loss=r.loss, reward=r.reward, lr=r.lr, t=r.clock))


#: ``lines`` and ``blocks``: one line, or several, for each row. ``before``: what stands before
#: ``step={n} loss={loss} reward={reward}``. ``tables``: a header and a row, and how many rows a
#: header has below (all of them by default).
_CASES = table(__file__)


def _prefixed(text: str) -> Form:
    return _template(text + "step={n} loss={loss:.4f} reward={reward:.4f}")


def _table(header: str, row: str, every: int = ROWS) -> Form:
    def text(rows: Rows) -> str:
        whole = ""
        for at, r in enumerate(rows):
            whole += "" if at % every else header
            whole += row.format(n=r.step, loss=r.loss, reward=r.reward, t=r.clock)
        return whole

    return text


_plain = _template("step={n} loss={loss:.4f} reward={reward:.4f}")


def _text(rows: Rows, form: Form = _plain) -> str:
    text = form(rows)
    assert isinstance(text, str)
    return text


def _redrawn(rows: Rows) -> str:
    """A bar that is redrawn by carriage returns, from 0 on."""
    bars = [f"\rTraining:   0%|     | 0/{ROWS} [00:00<?, ?it/s]"]
    bars += [
        f"\rTraining: {r.step:>3}%|#    | {r.step}/{ROWS} [00:03<01:57,  1.00it/s, "
        f"loss={r.loss:.4f}, reward={r.reward:.4f}]"
        for r in rows
    ]
    return "".join(bars) + "\n"


def _bar_from_0(rows: Rows) -> str:
    """A bar with a counter that begins at 0, and five epochs."""
    bars = [
        f"\rEpoch {1 + at // 24}:  10%|#    | {at % 24}/24 [00:03<01:57,  1.00it/s, step={at}, "
        f"loss={r.loss:.4f}, reward={r.reward:.4f}]"
        for at, r in enumerate(rows)
    ]
    return "".join(bars) + "\n"


def _among_bars(rows: Rows) -> str:
    """Lines written between redraws of a bar."""
    return "".join(
        f"\r  2%|▏    | {r.step}/{ROWS} [00:03<01:57,  1.00it/s]\r\x1b[K"
        f"step {r.step}: loss {r.loss:.4f}, reward {r.reward:.4f}\n"
        for r in rows
    )


def _among_noise(rows: Rows) -> str:
    """Warnings, health pings and saved checkpoints between the rows."""
    text = "Using device: cuda:0\nLoaded 494,032,768 parameters\n"
    for r in rows:
        text += f"step={r.step} loss={r.loss:.4f} reward={r.reward:.4f}\n"
        if r.step % 10 == 0:
            text += f"Saved checkpoint to out/ckpt-{r.step}.pt\n"
        if r.step % 7 == 0:
            text += "/usr/lib/x.py:123: UserWarning: lr_scheduler.step() before optimizer.step()\n"
    return text


def _evaluations(rows: Rows) -> str:
    """Further names at the end of every tenth row, and others once."""
    text = ""
    for r in rows:
        text += f"step={r.step} loss={r.loss:.4f} reward={r.reward:.4f}"
        text += f" eval_acc=0.{500 + r.step}" if r.step % 10 == 0 else ""
        text += " best_score=0.71" if r.step == ROWS else ""
        text += "\n"
    return text


def _many_ranks(rows: Rows) -> str:
    return "".join(
        f"[rank{rank}]:step={r.step} loss={r.loss:.4f} reward={r.reward:.4f}\n"
        for r in rows
        for rank in range(4)
    )


def _commas(form: Form) -> Form:
    """The form with decimal commas."""
    return lambda rows: _text(rows, form).replace(".", ",")


_WHOLE: dict[str, Form] = {
    "a bar that is redrawn": _redrawn,
    "a bar from 0": _bar_from_0,
    "lines among bars": _among_bars,
    "lines among noise": _among_noise,
    "names that come now and then": _evaluations,
    "many ranks": _many_ranks,
    "CRLF": lambda rows: _text(rows).replace("\n", "\r\n"),
    "UTF-8 with a mark": lambda rows: _text(rows).encode("utf-8-sig"),
    "UTF-16": lambda rows: _text(rows).encode("utf-16"),
    "UTF-16 of Windows": lambda rows: _text(rows).replace("\n", "\r\n").encode("utf-16"),
    "UTF-16, the large end first": lambda rows: b"\xfe\xff" + _text(rows).encode("utf-16-be"),
    "latin-1": lambda rows: (
        ("# Lauf für Grün\n" + _text(rows)).replace("reward", "größe_reward").encode("latin-1")
    ),
    "thousands with commas": _template("step {n:,}000 | loss {loss:.4f} | reward {reward:.4f}"),
    "thousands with more commas": _lines(
        lambda r: f"step {50_000 * r.step:,} | loss {r.loss:.4f} | reward {r.reward:.4f}"
    ),
    "thousands with underscores": _lines(
        lambda r: f"step {1000 * r.step:_}: loss={r.loss:.4f} reward={r.reward:.4f}"
    ),
    "thousands with a letter": _template("step:{n}K loss:{loss:.4f} reward:{reward:.4f}"),
    "thousands with a letter in words": _template(
        "Step {n}.0k | loss {loss:.4f} | reward {reward:.4f}"
    ),
    "millions": _lines(
        lambda r: f"step: {r.step / 10:.1f}M, loss: {r.loss:.4f}, reward: {r.reward:.4f}"
    ),
    "decimal commas": _commas(_template("step {n}; loss {loss:.4f}; reward {reward:.4f}")),
    "decimal commas and equals": _commas(_plain),
    "large numbers with commas": _lines(
        lambda r: (
            f"step {r.step} | loss {r.loss:.4f} | tokens {4096 * r.step:,} | reward {r.reward:.4f}"
        )
    ),
}


def _joined() -> dict[str, Form]:
    forms = {name: _template(text) for name, text in (_CASES["lines"] | _CASES["blocks"]).items()}
    forms |= {f"{name}, in front": _prefixed(text) for name, text in _CASES["before"].items()}
    forms |= {name: _table(**parts) for name, parts in _CASES["tables"].items()}
    return forms | _WHOLE


#: All forms by name.
FORMS: dict[str, Form] = _joined()

"""Whether a file of JSON lines begins with metrics or with samples.

Trainers also dump prompts and answers as JSON lines (rollouts, completions, traces, evaluations):
such rows contain texts or lists of messages, and many have the same step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

from rltui.formats.base import HEAD_BYTES, Refusal
from rltui.formats.jsonl.jsonl_row import (
    OpenObject,
    Row,
    Step,
    are_records,
    counted_step,
    counts_batches,
    figures_of,
    find_step,
    flatten,
    objects,
    settings_of,
    translator_of,
)
from rltui.formats.words import are_figures, may_count, plain, words

#: JSON files of well-known programs, none of them a log.
NO_LOGS = re.compile(
    r"trainer_state|wandb-.*|package(-lock)?|.*tokenizer.*|vocab|merges|.*config.*|args|params"
    r"|hparams|hyperparameters|settings|manifest|metadata|.*\.index|dataset_infos?|run"
    r"|special_tokens_map|added_tokens|.*schema.*|tsconfig.*|composer|launch|tasks",
    re.IGNORECASE,
)
#: Rows examined at most.
_ROWS = 40
#: Rows with one step and equal keys from which on they are samples (verl: one file per step).
_SAME_STEP = 16
#: Rows for each that begins again at a lower counter.
_FALLS = 10
#: A longer text is not the label of a metric, in characters.
_LONG_TEXT = 200
#: Texts beyond the number of numbers that a row of metrics may have (phase, device).
_SPARE_TEXTS = 3
#: Rows without a step from which on they are counted.
_LEAST = 2
_SAMPLE_KEYS = frozenset(
    (
        *("prompt", "prompts", "completion", "completions", "response", "responses"),
        *("input", "inputs", "output", "outputs", "messages", "conversation"),
        *("conversations", "question", "answer", "answers", "solution", "ground_truth", "gts"),
        *("text", "trajectory", "transcript", "instruction", "generation"),
        *("generations", "chosen", "rejected", "query", "target", "token_ids", "input_ids"),
    )
)
#: Plain names that number questions, tasks or samples.
_RECORD_KEYS = frozenset(
    (
        *("id", "idx", "index", "uid", "uuid", "task", "taskid", "taskidx", "taskname", "sample"),
        *("sampleid", "sampleidx", "problem", "problemid", "instance", "instanceid", "question"),
        *("questionid", "model", "benchmark", "dataset", "split"),
    )
)


def holds_metrics(head: bytes, keys: Sequence[str], *, telling: bool, least: int) -> bool:
    """Whether the first rows are rows of metrics, and ``least`` of them are there; ``head`` may end
    inside a row. ``telling``: the file has a name that trainers give to logs."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = text.split(b"\n")
    if len(lines) == 1 and not text.rstrip().endswith(b"}"):
        # a row longer than the head: a step is in sight
        names = b"|".join(re.escape(k.encode()) for k in keys)
        step = re.match(rb'\{.*?"(' + names + rb')"\s*:\s*-?\d', text, re.DOTALL)
        return step is not None and least == 1 and not texts_in(text)
    rows = _rows(lines[:-1] if len(lines) > 1 else lines, strict=least > 1)
    if len(rows) < least or any(map(is_sample, rows)):
        return False

    if any(_is_metrics(row, keys) for row in rows):
        return not _of_one_step(rows, keys) and _advances(rows, keys)
    if len(rows) == 1 and settings_of(rows[0]):  # they may come first, alone; the rows follow
        return True
    telling = telling or _rises(rows)
    found = sum(_are_figures(row, telling=telling) for row in rows)
    return found >= _LEAST and 2 * found > len(rows)


def _of_one_step(rows: Sequence[Row], keys: Sequence[str]) -> bool:
    """Whether there are many rows with equal keys, all of one step, and not figures of one
    epoch."""
    if len(rows) < _SAME_STEP or len({tuple(row) for row in rows}) > 1:
        return False
    if translator_of(rows[0]) is not None:
        return False
    steps = {_step_of(row, keys) for row in rows}
    coarse = any(s is not None and s.key in words().coarse_step_keys for s in steps)
    return (
        len(steps) == 1
        and None not in steps
        and not (coarse and _are_figures(rows[0], telling=False))
    )


def _rows(lines: Sequence[bytes], *, strict: bool = False) -> list[Row]:
    """The rows of complete lines. Broken lines and other values are skipped; if the first is
    one, most others must be rows, and none is believed where that is ``strict``."""
    rows: list[Row] = []
    broken = 0
    begins = True
    pretty = OpenObject()
    for line in filter(None, map(pretty.joined, lines)):
        try:
            found = [value for value in objects(line) if isinstance(value, dict)]
        except ValueError:
            found = []
        if len(rows) >= _ROWS:
            break
        begins = begins and bool(found or rows)
        broken += not found
        rows += found
    return rows if begins or (broken < len(rows) and not strict) else []


def _step_of(row: Row, keys: Sequence[str]) -> Step | None:
    return find_step(row, keys) or counted_step(row)


def _rises(rows: Sequence[Row]) -> bool:
    """Whether a counter rises from row to row."""
    names = [n for n in rows[0] if may_count(n) or counts_batches((n,))]
    found = ([n for row in rows if type(n := row.get(name)) is int] for name in names)
    return len(rows) >= _LEAST and any(
        len(column) == len(rows) and all(b > a for a, b in pairwise(column)) for column in found
    )


def _are_figures(row: Row, *, telling: bool) -> bool:
    """Whether a row without a step has figures of a training, rather than those of questions."""
    names = figures_of(row)
    texts = [key for key, value in row.items() if isinstance(value, str)]
    if not names or len(texts) > len(names) or _is_record(row):
        return False
    return telling or are_figures(names)


def _is_record(row: Row) -> bool:
    """Whether a row is numbered or named like a question, a task or a sample."""
    return any(plain(key) in _RECORD_KEYS for key in row)


def _advances(rows: Sequence[Row], keys: Sequence[str]) -> bool:
    """Whether rows without a usual key of the step are in the order of their counter: that of
    one episode after another is none."""
    steps = [s.step for row in rows if not find_step(row, keys) and (s := counted_step(row))]
    falls = sum(later < step for step, later in pairwise(steps))
    return falls <= len(steps) // _FALLS


def texts_in(line: bytes) -> bool:
    """Whether a piece of JSON has texts that a model read or wrote."""
    sample = b"|".join(k.encode() for k in sorted(_SAMPLE_KEYS))
    return re.search(rb'"(' + sample + rb')"\s*:\s*["\[]', line) is not None


def is_sample(row: Row) -> bool:
    """Whether a row contains texts that a model read or wrote."""
    if translator_of(row) is not None or isinstance(row.get("data"), dict):
        return False
    for key, value in row.items():
        if key.lower() in _SAMPLE_KEYS and isinstance(value, (str, list)):
            return True
        if isinstance(value, str) and len(value) > _LONG_TEXT:
            return True
        if isinstance(value, list) and any(isinstance(v, (str, dict)) for v in value[:4]):
            if are_records(value):
                continue
            return True
    return False


def _is_metrics(row: Row, keys: Sequence[str]) -> bool:
    """Whether a row has a step and at least one other number."""
    translate = translator_of(row)
    if translate is not None:
        found = translate(dict(row))
        return (found.step is not None or found.beside) and bool(found.values)
    if _step_of(row, keys) is None:
        return False
    if isinstance(row.get("data"), dict):
        return True
    numbers = sum(1 for name, _ in flatten(row) if name not in keys)
    texts = sum(isinstance(value, str) for value in row.values())
    return numbers > 0 and texts <= numbers + _SPARE_TEXTS


def refusal(head: bytes, keys: Sequence[str]) -> Refusal:
    """Why a file with this head is not read. That is final once its first row is complete, unless
    rows may still be counted."""
    text = head.lstrip()
    line, newline, _ = text.partition(b"\n")
    final = bool(newline) or len(head) >= HEAD_BYTES
    no_step = f"rows have no step (looked for {', '.join(keys[:3])} and others)"
    # orjson takes no half row
    try:
        row, _ = json.JSONDecoder().raw_decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        if newline or not line.startswith(b"{"):
            return Refusal("not valid JSON" if text else "empty so far", final)
        return Refusal(no_step if final else "its first row is not complete yet", final)
    if not isinstance(row, dict):
        return Refusal("rows are not JSON objects", final)

    rows = _rows(text.split(b"\n"))
    figures = [n for n, row in enumerate(rows, 1) if not is_sample(row) and figures_of(row)]
    if any(map(is_sample, rows)) or not figures:
        stepped = any(isinstance(row.get(key), (int, float)) for key in keys) or counted_step(row)
        return Refusal("rows are texts, not metrics" if stepped else no_step, final)
    if len(rows) < _LEAST:
        return Refusal(f"{no_step}; two rows with figures would be counted")

    why = _why_refused(rows, keys, no_step)
    first = rows[figures[0] - 1]
    many = 2 * len(figures) > len(rows)
    lost = many and are_figures(figures_of(first)) and not _is_record(first)
    return Refusal(f"{why}: see line {figures[0]}", final, lost)


def _why_refused(rows: Sequence[Row], keys: Sequence[str], no_step: str) -> str:
    """Why rows with figures are none of a training."""
    steps = [step for row in rows if (step := _step_of(row, keys))]
    if not steps:
        return f"{no_step}, and are numbered or named like questions or results"
    if len(set(steps)) == 1:
        return f"all rows have the same {steps[0].key}, as samples have"
    if not _advances(rows, keys):
        return f"{steps[0].key} falls from row to row, as the length of episodes does"
    return "rows are texts, not metrics"

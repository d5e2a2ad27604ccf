"""One sample: prompt, completion, reward and further figures, from a record of any trainer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import filterfalse
from typing import Any

from rltui.formats.base import clean_tag, clean_text
from rltui.formats.json_value import float_of
from rltui.formats.jsonl.jsonl_row import find_step
from rltui.formats.words import words

#: Characters of a text and of its preview that are kept, and samples of one record.
_MAX_CHARS = 200_000
_PREVIEW = 240
_MAX_ITEMS = 10_000
#: Conversations within conversations.
_MAX_DEPTH = 16
#: Characters of a text that may be a number.
_MAX_NUMBER = 40


@dataclass(frozen=True, slots=True)
class SampleRow:
    """What a list shows of a sample; the texts stay in the file."""

    place: int
    """Where the record is: byte offset or number of the row."""
    item: int
    """Which sample of a record that holds several."""
    step: int | None
    reward: float
    """NaN for none."""
    length: int
    """Characters of the completion."""
    preview: str
    """Beginning of the completion (else of the first text), cleaned, in one line."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything of a sample, cleaned."""

    texts: tuple[tuple[str, str], ...]
    """(name, text) pairs: prompt, completion, then others."""
    figures: tuple[tuple[str, float], ...]
    """(name, value) pairs in the order of the record."""


def samples_in(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The samples of a record: itself, or one for each item where its columns are lists."""
    known = words()
    main = _first(record, known.sample_completions) or _first(record, known.sample_prompts)
    column = record.get(main) if main else None
    if not isinstance(column, list) or not _is_column(column):
        yield dict(record)
        return

    count = len(column)
    columns = {k: v for k, v in record.items() if isinstance(v, list) and len(v) == count}
    rest = {k: v for k, v in record.items() if k not in columns and not isinstance(v, list)}
    for at in range(min(count, _MAX_ITEMS)):
        yield {**rest, **{k: v[at] for k, v in columns.items()}}


def _is_column(values: list[Any]) -> bool:
    """Whether a list holds one text or conversation for each of several samples."""
    return bool(values) and all(isinstance(v, (str, list)) for v in values)


def row_of(record: Mapping[str, Any], place: int, item: int) -> SampleRow | None:
    """What a list shows of a sample; None for a record without any text."""
    names = _text_names(record)
    if not names:
        return None

    known = words()
    main = _first(record, known.sample_completions) or names[0]
    text = _text_of(record[main])
    step = find_step({k: _number_like(v) for k, v in record.items()}, known.step_keys)
    preview = " ".join(clean_text(text[: 2 * _PREVIEW]).split())[:_PREVIEW]
    return SampleRow(place, item, step.step if step else None, _reward(record), len(text), preview)


def sample_of(record: Mapping[str, Any]) -> Sample:
    """Everything of a sample, prompt and completion first."""
    known = words()
    first = [_first(record, known.sample_prompts), _first(record, known.sample_completions)]
    names = dict.fromkeys([*(n for n in first if n), *_text_names(record)])
    texts = tuple((clean_tag(n), _kept(_text_of(record[n]))) for n in names)
    figures = tuple(
        (clean_tag(n), _number(v))
        for n, v in record.items()
        if n not in known.step_keys and n not in names and _is_figure(v)
    )
    return Sample(texts, figures)


def _kept(text: str) -> str:
    more = len(text) - _MAX_CHARS
    return clean_text(text[:_MAX_CHARS]) + (f" … {more:,} more characters" if more > 0 else "")


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of ``names`` that is a text or a conversation of the record."""
    return next((n for n in names if isinstance(record.get(n), (str, list)) and record[n]), None)


def _text_names(record: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, value in record.items()
        if (isinstance(value, str) and not _is_number(value))
        or (isinstance(value, (list, dict)) and value and not _is_vector(value))
    ]


def _is_vector(value: object) -> bool:
    """Whether it holds numbers: token ids, log-probabilities."""
    return isinstance(value, list) and isinstance(value[0], (int, float))


def _is_number(text: str) -> bool:
    try:
        return len(text) < _MAX_NUMBER and float(text) is not None
    except ValueError:
        return False


def _is_figure(value: object) -> bool:
    """Whether it is a number, or the text of one as in the ground truths of verl."""
    return isinstance(value, (int, float)) or (isinstance(value, str) and _is_number(value))


def _number_like(value: object) -> object:
    """A step may be written as a text."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value


def _number(value: object) -> float:
    if isinstance(value, (bool, int, float)):
        return float_of(value)
    return float(value) if isinstance(value, str) and _is_number(value) else math.nan


def _figures(record: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The numbers of a record by their names in lower case."""
    return [(n.lower(), v) for n, raw in record.items() if not math.isnan(v := _number(raw))]


def _reward(record: Mapping[str, Any]) -> float:
    """The reward: a column of that name, else the sum of the reward functions, else the
    advantage."""
    known = words()
    named = (_number(record.get(name)) for name in known.sample_rewards)
    if (value := next(filterfalse(math.isnan, named), None)) is not None:
        return value
    found = _figures(record)
    none = known.sample_figures
    rewards = [v for n, v in found if "reward" in n]
    rewards = rewards or [v for n, v in found if not any(x in n for x in none)]
    rewards = rewards or [v for n, v in found if "advantage" in n][:1]

    return sum(rewards) if rewards and all(map(math.isfinite, rewards)) else math.nan


def _text_of(value: object, depth: int = 0) -> str:
    """A text, or a conversation as one text."""
    if isinstance(value, str):
        return value
    if depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        role, content = value.get("role"), value.get("content")
        if isinstance(role, str) and content is not None:
            return f"{role}: {_text_of(content, depth + 1)}"
        if isinstance(value.get("text"), str):
            return str(value["text"])
    if isinstance(value, list):
        return "\n\n".join(_text_of(v, depth + 1) for v in value[:_MAX_ITEMS])

    return _shown(value)


def _shown(value: object) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or deep nesting
        return "…"

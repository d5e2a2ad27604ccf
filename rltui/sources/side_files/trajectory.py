"""One sample of a record, whichever trainer wrote it: its turns, its reward, and how it ended.

verl and SkyRL write one text with tags or a chat template; verifiers, TRL and ms-swift messages as
OpenAI has them; NeMo-RL their bare texts; NeMo-Gym items of OpenAI's Responses.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from rltui.core.text import clean
from rltui.formats.base import clean_tag, clean_text
from rltui.formats.json_value import float_of, parsed
from rltui.formats.jsonl.jsonl_row import find_step
from rltui.formats.words import words

#: Characters of a text and of its preview that are kept, items of a list, and turns of a sample.
_MAX_CHARS, _PREVIEW, _MAX_ITEMS, _MAX_TURNS = 200_000, 240, 10_000, 1_000
#: Conversations within conversations, groups within groups of figures, figures of a row.
_MAX_DEPTH, _MAX_GROUPS, _MAX_PARTS = 16, 3, 12
#: The names in a reward of verifiers' traces; tokens of an answer: more is no count.
_SCORED, _MOST_TOKENS = {"score", "weight"}, 1e12
#: Characters of a text that may be a number and how it begins, and of the reason of an end.
_MAX_NUMBER, _NUMERIC, _MAX_END = 40, re.compile(r"\s*[-+.\dni]", re.IGNORECASE), 24
#: What may be wrong with a sample.
MARKS = TRUNCATED, FAILED, GARBLED = "truncated", "tool failed", "garbled or repeating"
#: The last characters, where they are looked for, and how often they may be there.
_TAIL, _BEFORE, _REPEATS = 24, 2_000, 5
#: What decoding leaves of broken characters, and how many may be there.
_BROKEN, _MOST_BROKEN = "\ufffd", 3
MODEL, TOOL, CALL = "assistant", "tool", "call"
#: Characters with which tags and tokens begin: a quick look, for most texts are one answer.
_MARKUP = "</", "<|"
#: Shapes of records that are known: the names of those of a file are mostly the same.
_SHAPES = 64

Record = Mapping[str, Any]
_Names = tuple[str, ...]


class Turn(NamedTuple):
    """One turn of a conversation: a message, a call, or its result."""

    role: str
    """Who said it; :data:`CALL` for the call of a tool, :data:`TOOL` for its result."""
    text: str
    """Also the arguments of a call."""
    name: str = ""
    """Name of the tool."""
    failed: bool = False
    """Whether the result says that the call failed."""
    seconds: float = math.nan
    reward: float = math.nan


class SampleRow(NamedTuple):
    """A row of the list of samples; the texts stay in the file."""

    position: int
    """Position of its record in the file: byte offset or number of the row."""
    item: int
    """Which sample of a record that holds several."""
    step: int | None
    reward: float
    """NaN for none."""
    length: int
    """Characters of the completion."""
    preview: str
    """Beginning of the completion (of the last answer, else of the first text), cleaned, in one
    line."""
    turns: int = 1
    """Answers of the model."""
    right: bool | None = None
    """Whether the answer is right; None where no column says so."""
    end: str = ""
    """The reason of its end, cleaned."""
    marks: tuple[str, ...] = ()
    """Marks of what is wrong: :data:`TRUNCATED`, :data:`FAILED`, :data:`GARBLED`."""
    seconds: float = math.nan
    prompt: int = 0
    """Number shared by answers to the same prompt, in this process; 0 for no prompt."""
    parts: tuple[tuple[str, float], ...] = ()
    """(name, value) of further figures that may be parts of the reward, cleaned."""
    tokens: int = 0
    """Tokens of the completion; 0 where no column says so."""


class Sample(NamedTuple):
    """All texts and figures of a sample, cleaned."""

    texts: tuple[tuple[str, str], ...]
    """(name, text) pairs: prompt, completion, then others."""
    figures: tuple[tuple[str, float], ...]
    """(name, value) pairs in the order of the record."""
    turns: tuple[Turn, ...] = ()
    """Turns of prompt and completion; none where there is one answer and nothing else."""
    spoken: int = 0
    """How many of the texts the turns are: the first ones."""


class SampleTable(NamedTuple):
    """The samples of one file, without their texts."""

    rows: tuple[SampleRow, ...]
    note: str = ""
    """Why there is none, or not all."""
    rest: Iterator[SampleTable] = iter(())
    """The whole table, where this one is a part: reads on when it is asked."""


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    """Patterns of columns, reasons of an end, turns, tags of tools, and results of failed calls."""
    samples = words().samples
    found = {kind: "|".join(map(re.escape, names)) for kind, names in samples.items()}
    no_error = r"(?!\W{1,4}(?:null|none|false)\b)"  # the key of a result without one
    failure = rf"[\W_]{{0,9}}(?:{found['failures']}){no_error}"
    found |= {
        "figures": rf"{found['figures']}|(?:^|[_./])(?:{found['ids']})$",
        "right": rf"(?:.*[/.])?(?:is_)?(?:{found['right']})(?:_(?:reward|func|score))*",
        "speakers": "|".join(samples["speakers"]),
        "tags": rf"<({found['calls']}|{found['results']})>(.*?)(?:</\1>|\Z)",
        "failures": failure,
        "failed tag": rf"<(?:{found['results']})>{failure}",
    }
    return {kind: re.compile(form, re.IGNORECASE | re.DOTALL) for kind, form in found.items()}


def row_of(record: Record, position: int, item: int) -> SampleRow | None:
    """Row of a sample in a list; None for a record without any text."""
    prompt, main = first_of(record, "prompts"), first_of(record, "completions")
    first = main or prompt or next(iter(text_names(record)), None)
    if first is None:
        return None

    look = _look(record[first])
    figures = {n: v for n, v in _figures(record).items() if not math.isnan(v)}
    rewards, parts, shown, *others = _meaning(tuple(figures))
    right, seconds, tokens = (figures.get(name, math.nan) for name in others)
    reward = sum([figures[n] for n in rewards]) if rewards else math.nan
    if others[1].endswith("_ms"):
        seconds /= 1_000
    asked = _text_of(record[prompt]) if prompt and main else look.asked
    preview = clean(" ".join(look.last[: 2 * _PREVIEW].split()))[:_PREVIEW]
    told = _step_of(record), reward, look.length, preview, look.turns
    ended = right > 0.5 if others[0] else None, *_ending(record, look), seconds
    told_parts = tuple(zip(shown, map(figures.__getitem__, parts), strict=True))
    count = int(tokens) if 0 < tokens < _MOST_TOKENS else 0

    return SampleRow(position, item, *told, *ended, hash(asked), told_parts, count)


def _step_of(record: Record) -> int | None:
    """The step of a sample, which may be written as a text."""
    keys = _columns(tuple(record))["steps"]
    for key in keys:
        value = record[key]
        is_text = isinstance(value, str) and value.isdecimal() and len(value) < 16
        if step := find_step({key: int(value) if is_text else value}, keys):
            return step.step
    return None


def _ending(record: Record, look: _Look) -> tuple[str, tuple[str, ...]]:
    """The reason of the end, and what is wrong."""
    columns, marks = _columns(tuple(record)), list[str]()
    ends = [v for n in columns["ends"] if isinstance(v := record[n], str)]

    is_cut = True in map(record.get, columns["truncated"])
    if is_cut or any(map(_patterns()["limits"].search, ends)):
        marks.append(TRUNCATED)
    if look.failed or any(map(record.get, columns["errors"])):
        marks.append(FAILED)
    tail, before = look.last[-_TAIL:], look.last[-_BEFORE:]
    repeats = len(tail) == _TAIL and tail.strip() and before.count(tail) >= _REPEATS
    if repeats or look.last.count(_BROKEN) > _MOST_BROKEN:  # broken characters
        marks.append(GARBLED)
    return clean(ends[0][:_MAX_END]) if ends else "", tuple(marks)


class _Look(NamedTuple):
    """Last words of the model, its characters in all, and the text before its first answer."""

    last: str
    length: int
    turns: int = 1
    failed: bool = False
    asked: str = ""


def _look(value: object) -> _Look:
    """A quick look at a completion or conversation: a step has thousands."""
    if isinstance(value, str):
        return _look_at_text(value)
    said, asked, failed, tools = list[str](), list[str](), False, words().samples["tools"]
    messages: list[Record]
    if isinstance(value, list) and all(isinstance(m, dict) and "role" in m for m in value):
        messages = value
    else:
        turns = _turns(value, MODEL)
        messages = [{"role": t.role, "content": t.text, "is_error": t.failed} for t in turns]

    for message in messages:
        role, text = message["role"], message.get("content") or ""
        if not isinstance(text, str):
            text = _text_of(text)
        if role == MODEL:
            said.append(text)
        elif role in tools:
            failed = failed or message.get("is_error") is True or _is_failure(text)
        elif not said:
            asked.append(text)

    said = said or [_text_of(value)]
    if len(said) == 1 and (inner := _look_at_text(said[0])).turns > 1:
        return inner._replace(asked="\n".join(asked))
    return _Look(said[-1], sum(map(len, said)), len(said), failed, "\n".join(asked))


def _look_at_text(text: str) -> _Look:
    samples = words().samples
    marks = [m for m in samples["answers"] if m in text]
    if not marks and not any(m in text for m in _MARKUP):
        return _Look(text, len(text))
    marks = marks or [f"</{t}>" for t in samples["results"]]

    turns = 1 + sum(map(text.count, marks))
    last = max([text.rfind(m) + len(m) for m in marks if m in text], default=0)
    return _Look(text[last:], len(text), turns, _patterns()["failed tag"].search(text) is not None)


@lru_cache(maxsize=_SHAPES)
def _meaning(names: _Names) -> tuple[_Names, _Names, _Names, str, str, str]:
    """Sort the names of some figures: rewards, which are summed (a column of that name, else reward
    functions, else the advantage); possible parts of them, also cleaned; and the names of whether
    the answer is right, how long it took, and its tokens, "" where none does."""
    found, right = _columns(names), list(filter(_patterns()["right"].fullmatch, names))
    others = {*found["truncated"], *found["times"], *filter(_patterns()["figures"].search, names)}
    plain = [n for n in names if n not in others]
    choices = (
        found["rewards"][:1],
        [n for n in names if n.lower().startswith("rewards/")],
        [n for n in names if "reward" in n.lower()],
        [n for n in plain if "/" not in n],
        [n for n in names if "advantage" in n.lower()][:1],
    )
    parts = tuple(n for n in plain if n not in {*right, *found["rewards"]})[:_MAX_PARTS]
    right_one, time, tokens = (next(iter(x), "") for x in (right, found["times"], found["tokens"]))
    rewards = tuple(next(filter(None, choices), ()))
    return rewards, parts, tuple(map(clean_tag, parts)), right_one, time, tokens


def sample_of(record: Record) -> Sample:
    """All texts and figures of a sample, prompt and completion first."""
    prompt = first_of(record, "prompts")
    main = first_of(record, "completions")
    first = [n for n in dict.fromkeys((prompt, main)) if n]
    names = list(dict.fromkeys([*first, *text_names(record)]))
    turns = list[Turn]()
    room = _MAX_CHARS
    for turn in _turns_of(record, prompt, main):
        if room <= 0 or len(turns) == _MAX_TURNS:
            turns.append(Turn("…", "further turns are not shown"))
            break
        room -= len(turn.text)
        role = clean(turn.role[:_MAX_END])
        name = clean_tag(turn.name)
        turns.append(turn._replace(role=role, name=name, text=_cut(turn.text)))
    is_simple = all(t.role in ("system", "user") for t in turns[:-1])

    not_shown = {*names, *words().step_keys}
    return Sample(
        tuple((clean_tag(n), _cut(_text_of(record[n]))) for n in names),
        tuple((clean_tag(n), v) for n, v in _figures(record).items() if n not in not_shown),
        () if is_simple else tuple(turns),
        len(first),
    )


def _cut(text: str) -> str:
    more = len(text) - _MAX_CHARS
    return clean_text(text[:_MAX_CHARS]) + (f" … {more:,} more characters" if more > 0 else "")


# -- its turns ----------------------------------------------------------------------------------


def _turns_of(record: Record, prompt: str | None, main: str | None) -> Iterator[Turn]:
    """The turns of prompt and completion, with the rewards of single turns."""
    lists = (record.get(n) for n in words().samples["turn_rewards"])
    rewards = iter(next((v for v in lists if isinstance(v, list)), ()))

    for name in dict.fromkeys(n for n in (prompt, main) if n):
        for turn in _turns(record[name], "user" if main and name == prompt else MODEL):
            if turn.role == MODEL and name == (main or prompt):
                turn = turn._replace(reward=_or_nan(next(rewards, turn.reward)))
            yield turn


def _turns(value: object, role: str, depth: int = 0) -> Iterator[Turn]:
    """The turns of a text, a message, or a list of them; ``role``: who says what has no name."""
    if isinstance(value, str):
        yield from _split(value, role)
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for at, one in enumerate(value[:_MAX_ITEMS]):
            # of bare texts the last one is the model's, and the others alternate
            is_other = isinstance(one, str) and (len(value) - 1 - at) % 2
            yield from _turns(one, "user" if is_other else role, depth + 1)
    elif isinstance(value, Mapping):
        yield from _message(value, role)


def _message(message: Record, role: str) -> Iterator[Turn]:
    """A message of OpenAI's chat completions, or an item of its Responses."""
    kind = message.get("type")
    name = message.get("name")
    role = who if isinstance(who := message.get("role"), str) else role
    text = next((_text_of(message[k]) for k in ("content", "output", "text") if message.get(k)), "")
    seconds = _or_nan(message.get("seconds"))
    reward = _or_nan(message.get("reward"))
    turn = Turn(role, text, name if isinstance(name, str) else "", False, seconds, reward)

    calls = message.get("tool_calls")
    if kind == "function_call":
        calls = [message]
    elif role in words().samples["tools"] or kind == "function_call_output":
        failed = message.get("is_error") is True or _is_failure(text)
        yield turn._replace(role=TOOL, failed=failed)
    else:
        if isinstance(thought := message.get("reasoning_content"), str) and thought:
            yield Turn("reasoning", thought)
        said = list(_split(text, role)) if text else [turn]
        yield turn._replace(role=said[0].role, text=said[0].text)
        yield from said[1:]
    yield from map(_call, calls if isinstance(calls, list) else ())


def _call(call: object) -> Turn:
    """The call of a tool: by OpenAI, or the JSON of one as verifiers and Qwen write it."""
    if isinstance(call, str):
        with suppress(ValueError):
            call = parsed(call.encode("utf-8", "replace"))
    if not isinstance(call, Mapping):
        return Turn(CALL, _text_of(call))

    inner = call["function"] if isinstance(call.get("function"), Mapping) else call
    given = inner.get("arguments", "")
    if not isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.dumps(given, ensure_ascii=False)
    return Turn(CALL, _text_of(given), str(inner.get("name") or ""))


def _split(text: str, role: str) -> Iterator[Turn]:
    """The turns of a text, by its chat template, then by tags of tools."""
    samples = words().samples
    forms = _patterns()
    has_names = text.startswith(("system\n", "user\n")) or any(
        m in text for m in (*_MARKUP, *samples["answers"])
    )
    marks = list(forms["speakers"].finditer(text)) if has_names else []
    ends = [*(m.start() for m in marks), len(text)]
    bounds = zip(marks, ends[1:], strict=True)
    spoken = ((m[m.lastindex or 0], text[m.end() : end]) for m, end in bounds)

    for who, part in ((role, text[: ends[0]]), *spoken):
        part = forms["turn_ends"].sub("", part)
        at = 0
        for found in forms["tags"].finditer(part) if who != "system" else ():
            if said := part[at : found.start()].strip():
                yield Turn(who, said)
            tag = found[1]
            inner = found[2].strip()
            at = found.end()
            if tag in samples["results"]:
                yield Turn(TOOL, inner, failed=_is_failure(inner))
            else:
                yield _call(inner) if tag == "tool_call" else Turn(CALL, inner, tag)
        if said := part[at:].strip("\n"):
            yield Turn(who, said, failed=who == TOOL and _is_failure(said))


def _is_failure(text: str) -> bool:
    return _patterns()["failures"].match(text[:_PREVIEW]) is not None


# -- its texts and figures ----------------------------------------------------------------------


@lru_cache(maxsize=_SHAPES)
def _columns(names: _Names) -> Mapping[str, _Names]:
    """Kind -> the columns of it that a record with these names has, the first choice first."""
    known = {**words().samples, "steps": words().step_keys}
    return {kind: tuple(n for n in some if n in names) for kind, some in known.items()}


def first_of(record: Record, kind: str) -> str | None:
    """The first column of a kind that is a text or a conversation of the record."""
    for name in _columns(tuple(record))[kind]:
        if isinstance(value := record[name], (str, list)) and _has_text(value):
            return name
    return None


def text_names(record: Record) -> list[str]:
    """Names of texts, and of what holds more than numbers."""
    return [n for n, v in record.items() if _number(v) is None and _has_text(v)]


def _has_text(value: object) -> bool:
    """Whether it is not empty, and no list or group of numbers."""
    if not value or not isinstance(value, (str, list, dict)):
        return False
    if isinstance(value, list):
        return not isinstance(value[0], (int, float, type(None)))
    return isinstance(value, str) or _group({"": value}) is None


def _group(value: Record, depth: int = 0) -> dict[str, float] | None:
    """The numbers of a group that holds numbers and groups of them, and nothing else; their names
    with those of the inner groups before a slash."""
    found: dict[str, float] = {}
    for name, one in value.items():
        if isinstance(one, dict):
            if one.keys() == _SCORED:
                found[name] = (_number(one["score"]) or 0.0) * (_number(one["weight"]) or 0.0)
            elif depth == _MAX_GROUPS or (inner := _group(one, depth + 1)) is None:
                return None
            else:
                found |= {f"{name}/{n}": v for n, v in inner.items()}
        elif (number := _number(one)) is not None:
            found[name] = number
        elif one is not None:
            return None
    return found


def _figures(record: Record) -> dict[str, float]:
    """The numbers of a record and of its groups; a list of rewards is summed, one of tokens
    counted."""
    found: dict[str, float] = {}
    rewards = words().samples["rewards"]
    tokens = words().samples["tokens"]
    for name, value in record.items():
        if isinstance(value, list):
            if name in rewards:
                found[name] = sum(v for v in map(_number, value) if v is not None)
            elif name in tokens:
                found[name] = len(value)
        elif isinstance(value, dict):
            found |= _group({name: value}) or {}
        elif (number := _number(value)) is not None:
            found[name] = number
    return found


def _number(value: object) -> float | None:
    """A number, or the text of one as in the ground truths of verl; None for anything else."""
    if isinstance(value, (bool, int, float)):
        return float_of(value)
    if isinstance(value, str) and len(value) < _MAX_NUMBER and _NUMERIC.match(value):
        with suppress(ValueError):
            return float(value)
    return None


def _or_nan(value: object) -> float:
    return math.nan if (number := _number(value)) is None else number


def _text_of(value: object, depth: int = 0) -> str:
    """A text, or a conversation as one text."""
    found = value if isinstance(value, str) else "…"
    if depth > _MAX_DEPTH or isinstance(value, str):
        return found
    if isinstance(value, list):
        return "\n\n".join(_text_of(v, depth + 1) for v in value[:_MAX_ITEMS])
    with suppress(ValueError, RecursionError):  # an integer of thousands of digits, deep nesting
        found = _text_in(value, depth) if isinstance(value, dict) else str(value)
    return found


def _text_in(value: dict[str, Any], depth: int) -> str:
    """The text of a message, of a part of one, or of anything else."""
    role, content, calls = (value.get(k) for k in ("role", "content", "tool_calls"))
    if isinstance(role, str) and (content is not None or calls):
        called = [_call(c) for c in calls] if isinstance(calls, list) else []
        told = [_text_of(content, depth + 1)] if content is not None else []
        return f"{role}: " + "\n".join([*told, *(f"{c.name}({c.text})" for c in called)])
    if isinstance(value.get("text"), str):
        return str(value["text"])
    kind = value.get("type")
    return f"[{kind}]" if isinstance(kind, str) and "image" in kind else str(value)

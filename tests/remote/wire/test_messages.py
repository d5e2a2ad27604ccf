"""The small messages of a stream, also those of a hostile other side."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rltui.core.batch import RunKey
from rltui.remote.wire import Frame, Kind, WireError
from rltui.remote.wire.messages import (
    Answer,
    Hello,
    State,
    dump_found,
    load_chosen,
    load_error,
    load_found,
    load_kept,
)

LOADS: dict[Kind, Callable[[Frame], object]] = {
    Kind.HELLO: Hello.load,
    Kind.STATE: State.load,
    Kind.CHOSEN: load_chosen,
    Kind.ERROR: load_error,
    Kind.KEPT: load_kept,
    Kind.ANSWER: Answer.load,
    Kind.FOUND: lambda frame: load_found(frame, 2),
}
NAMES = [
    *("rltui", "logdirs", "now", "can", "progress", "runs", "notes", "unclaimed", "text"),
    *("bad_path", "kept", "sort", "size", "modified", "names", "error", "chosen"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["file", "ENOENT"]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(sorted(LOADS)), st.dictionaries(st.sampled_from(NAMES), VALUES))
@example(Kind.STATE, {"progress": [1]})
def test_hostile_records_are_errors_or_messages(kind: Kind, record: dict[str, object]) -> None:
    payload = json.dumps(record).encode()
    if kind is Kind.ANSWER:
        payload = struct.pack("<I", len(payload)) + payload
    with suppress(WireError):
        LOADS[kind](Frame(kind, payload))


def test_a_run_of_a_logdir_that_nobody_named_is_an_error() -> None:
    frame = Frame(Kind.FOUND, dump_found([RunKey(0, "a"), RunKey(1, "b")]))
    assert load_found(frame, 2) == (RunKey(0, "a"), RunKey(1, "b"))
    with pytest.raises(WireError, match="no logdir"):
        load_found(frame, 1)

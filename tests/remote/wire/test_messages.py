"""The small messages of a stream, also those of a hostile other side."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rltui.remote.wire.codec import WireError
from rltui.remote.wire.framing import Frame, Kind
from rltui.remote.wire.messages import message_in
from tests.tables import cases

KINDS = [kind for kind in Kind if kind not in (Kind.BATCH, Kind.PART)]
NAMES = [
    *("rltui", "logdirs", "now", "progress", "runs", "notes", "unclaimed", "text", "watch", "what"),
    *("bad_path", "kept", "sort", "size", "modified_ns", "names", "error", "chosen", "files"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["file", "ENOENT"]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMES), VALUES))
@example(Kind.STATE, {"progress": [1]})
def test_hostile_records_are_errors_or_messages(kind: Kind, record: dict[str, object]) -> None:
    with suppress(WireError):
        message_in(Frame(kind, json.dumps(record).encode()))


@cases(__file__, "what_cannot_be_is_refused")
def test_what_cannot_be_is_refused(kind: str, record: str) -> None:
    with pytest.raises(WireError):
        message_in(Frame(Kind[kind], record.encode()))

"""Logs as ``logs.yaml`` has them: all of their points, and all else that is read in them."""

from pathlib import Path
from typing import Any

import pytest

from rltui.formats import FORMATS
from tests.formats import encode
from tests.tables import table

FORMS = {form.name: form for form in FORMATS}


@pytest.mark.parametrize("case", table(__file__), ids=lambda case: case["name"])
def test_a_log_is_read_alike_in_any_pieces(case: dict[str, Any]) -> None:
    form, path, data = FORMS[case["format"]], Path(case["file"]), case["log"].encode()
    assert form.claims(path, data) is case.get("claimed", True)
    pieces = (None,) if form.document else (None, 1, 7, 50)
    for piece in pieces:
        parts = encode.feed_all(form.decoder(None, path), data, piece=piece, more=piece == 50)
        points = encode.values_of(parts)
        shown = {t: " ".join(f"{s}={v:.15g}" for s, v in ps) for t, ps in points.items()}
        assert shown == case["points"], piece
        assert encode.restarts_of(parts) == case.get("restarts", [])
        assert {k: v for p in parts for k, v in p.hparams.items()} == case.get("hparams", {})
        notes = [[n.offset, n.message] for p in parts for n in p.notes]
        assert notes == case.get("notes", []) or (piece and notes and "notes" in case)
        assert parts[-1].steps_are_row_numbers is case.get("counted", False)
        assert sorted(parts[-1].guessed) == case.get("guessed", [])
        times = {" ".join(f"{w:.15g}" for _, w, _ in p) for p in encode.points_of(parts).values()}
        assert times == set(case["times"]) if "times" in case else True

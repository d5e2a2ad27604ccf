"""Pauses between attempts."""

from __future__ import annotations

from rltui.files.trouble import Backoff


def test_pauses_double_up_to_a_bound_and_begin_anew() -> None:
    backoff = Backoff(1.0, 8.0)
    assert not backoff.waits(0.0)
    assert [backoff.failed(0.0) for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert backoff.waits(7.9)
    assert not backoff.waits(8.0)
    backoff.succeeded()
    assert not backoff.waits(0.0)
    assert backoff.failed(0.0) == 1.0


def test_a_pause_may_be_stretched() -> None:
    assert Backoff(1.0, 8.0, lambda: 1.5).failed(0.0) == 1.5

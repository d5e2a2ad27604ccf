"""What is remembered of files that are still there."""

from __future__ import annotations

from rltui.sources.discovery.log_head import Recent


def test_what_is_not_asked_for_during_a_whole_look_is_forgotten() -> None:
    recent: Recent[str, int] = Recent()
    recent["a"], recent["b"] = 1, 2
    for _ in range(3):
        recent.turn()
        assert recent.get("a") == 1
        assert recent.items() == [("a", 1)]
    assert (recent.get("b"), len(recent)) == (None, 1)
    recent.turn()
    recent.turn()
    assert (recent.get("a"), len(recent)) == (None, 0)

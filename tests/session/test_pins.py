"""What the user pinned."""

from __future__ import annotations

from rltui.session.run import Pins
from tests.fakes import a_session, grpo_batch


def test_a_second_time_unpins_and_the_order_is_that_of_pinning() -> None:
    pins = Pins(["b", "a", "b"])
    assert pins.tags == ("b", "a")
    assert pins.toggle("c")
    assert not pins.toggle("b")
    assert pins.tags == ("a", "c")


def test_all_runs_of_a_session_share_them_also_while_the_view_is_held() -> None:
    session = a_session(grpo_batch(9), grpo_batch(9, run="other"))
    session.run_list.pins.toggle("actor/lr")
    session.run_list.hold()
    assert [r.pins.tags for r in session.runs()] == [("actor/lr",)] * 2
    session.run_list.release()
    session.run_list.pins.toggle("actor/lr")
    assert [r.pins.tags for r in session.runs()] == [()] * 2

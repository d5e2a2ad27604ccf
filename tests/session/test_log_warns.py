"""A log that says in words, again and again, what is wrong with the training."""

from rltui.core.batch import LogTail
from rltui.core.level import Level
from rltui.health.model import Report
from rltui.health.stalled import stall_rule
from rltui.session.judging import with_warning
from tests.builders import a_batch
from tests.fakes import a_session
from tests.tables import cases


def a_report() -> Report:
    run = a_session(a_batch({"loss": [1.0, 0.9, 0.8]})).runs()[0]
    assert run.report is not None
    return run.report


def warned(line: str, times: int, mute: tuple[str, ...] = ()) -> Report:
    lines = [text for n in range(times) for text in (line.format(n=n), f"{n}/90 [00:10<1:00]")]
    return with_warning(a_report(), [LogTail(tuple(lines), 0)], stall_rule().warns, mute)


@cases(__file__, "what_is_said_again_and_again_is_found", "line")
def test_what_is_said_again_and_again_is_found(line: str) -> None:
    report = warned(line, 40)
    assert report.level >= Level.WATCH
    assert [f.rule for f in report.firing()] == ["log_warns"]
    assert warned(line, 3).firing() == ()
    assert warned(line, 40, ("log_warns",)).firing() == ()


def test_the_advice_names_no_other_sign() -> None:
    for line in ("WARNING: rank {n} grad_norm is not finite", "WARNING: missing advantages {n}"):
        (found,) = warned(line, 40).firing()
        assert "KL" not in found.advice


@cases(__file__, "usual_warnings_say_nothing_of_the_training", "line")
def test_usual_warnings_say_nothing_of_the_training(line: str) -> None:
    assert warned(line, 40).firing() == ()

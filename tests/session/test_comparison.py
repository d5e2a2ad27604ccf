"""Which run the others are compared with: by name, by path, by key."""

from pathlib import Path

import pytest

from rltui.core.errors import UsageError
from rltui.core.level import Level
from rltui.facts.sentences import summary
from rltui.session import Session
from rltui.session.session import Choice
from tests.builders import a_batch, read_session, running
from tests.commands.conftest import write_jsonl
from tests.fakes import FakeReader, a_session, grpo_tags

GOOD = [0.1 + 0.8 * i / 59 for i in range(60)]
WEAK = [0.1 + 0.2 * i / 59 for i in range(60)]


def write(path: Path, reward: list[float]) -> Path:
    tags = grpo_tags(60, collapse=None)
    tags["critic/score/mean"] = reward
    tags["critic/rewards/mean"] = reward
    write_jsonl(path, tags)
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write(tmp_path / "logs" / "good.jsonl", GOOD)
    write(tmp_path / "logs" / "weak.jsonl", WEAK)
    return tmp_path / "logs"


def read(logs: Path, reference: str | None) -> Session:
    return read_session([logs], choice=Choice(reference=reference))


def off(session: Session) -> dict[str, Level]:
    return {
        run.name: f.level
        for run in session.runs()
        for f in (run.report.findings if run.report else ())
        if f.rule == "off_reference" and f.metric in ("reward.mean", "reward.raw.mean")
    }


def test_a_run_that_learns_less_is_off_the_reference(logs: Path) -> None:
    session = read(logs, "good")
    assert off(session) == {"weak": Level.WATCH}
    good, weak = session.runs()
    assert (good.report.reference, weak.report.reference) == (None, "good")
    (finding,) = (f for f in weak.report.findings if f.rule == "off_reference")
    assert summary(finding).startswith(f"{finding.tag} ")


def test_a_reference_of_several_runs_is_refused_with_their_names(logs: Path) -> None:
    for name in ("one", "two"):
        write(logs / "exp" / name / "x.jsonl", GOOD)
    with pytest.raises(UsageError, match=r"exp: one run is needed, and there are: .*one.*two"):
        read(logs, "exp")
    with pytest.raises(UsageError, match="no run of this name"):
        read(logs, "g*")
    one = read(logs, "exp/one/x").reference.run
    assert one.key.name == "exp/one/x"


def test_a_reference_of_several_runs_is_named_while_they_are_followed(logs: Path) -> None:
    batches = [a_batch({"loss": [1.0]}, run=f"exp/{n}", source=f"exp/{n}/e") for n in "ab"]
    session = a_session(reader=(reader := FakeReader()), choice=Choice(reference="exp"))
    session.start()
    reader.feed(*batches)
    session.drain()
    assert session.reference.run is None
    assert "there are: exp/a, exp/b" in session.troubles()[0].message


def test_the_reference_may_lie_elsewhere(logs: Path, tmp_path: Path) -> None:
    past = write(tmp_path / "past.jsonl", GOOD)
    session = read(logs, str(past))
    assert off(session) == {"weak": Level.WATCH}
    assert len(session.runs()) == 2


def test_a_run_that_is_not_chosen_may_be_the_reference(logs: Path) -> None:
    session = read_session([logs], choice=Choice("w*", reference="good"))
    assert off(session) == {"weak": Level.WATCH}
    assert [run.name for run in session.runs()] == ["weak"]
    session = Session([logs], choice=Choice("w*", reference=str(logs / "good.jsonl")))
    session.scan()
    with pytest.raises(UsageError, match="found by its name, not by its path"):
        session.read_all()


def test_a_reference_that_is_not_there(logs: Path) -> None:
    with pytest.raises(UsageError, match=r"goood: no run of this name.* 'good'"):
        read(logs, "goood")


def test_a_reference_that_is_missing_while_watching_is_trouble(logs: Path) -> None:
    session = Session([logs], choice=Choice(reference="goood"))
    session.scan()
    with running(session):
        while session.reading() is not None or not session.views:
            session.drain()
        assert any("goood: no run of this name" in n.message for n in session.troubles())

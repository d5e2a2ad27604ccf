"""Session and views follow the store when a file turns out to belong to another run."""

from __future__ import annotations

from rltui.core.batch import RunKey
from rltui.core.block import Block
from tests.builders import START, a_batch, a_block, steps
from tests.fakes import FakeReader, a_session

HERE, OTHER = RunKey(0, "."), RunKey(0, ".#2")


def rows(value: float) -> Block:
    walls = [START + value + s for s in range(100)]
    return a_block({"loss": [value] * 100, "lr": [value] * 100}, walls=walls)


def test_hyperparameters_go_with_their_file() -> None:
    reader = FakeReader()
    session = a_session(reader=reader)
    session.start()
    reader.feed(a_batch(rows(1), source="one", hparams={"lr": 1.0, "total_steps": 200}))
    reader.feed(a_batch(rows(2), source="two", order=1, hparams={"lr": 2.0, "epochs": 7}))
    changes = session.drain()
    (moved,) = changes.moved
    assert (moved.path.name, moved.source, moved.target) == ("two", HERE, OTHER)
    assert session.views[HERE].hyperparameters.values == {"lr": 1.0, "total_steps": 200}
    assert session.views[OTHER].hyperparameters.values == {"lr": 2.0, "epochs": 7}
    assert session.views[OTHER].infos.keys() == {"loss", "lr"}
    assert all(view.report is not None for view in session.runs())


def test_later_rows_of_a_moved_file_go_to_its_run() -> None:
    reader = FakeReader()
    session = a_session(reader=reader)
    session.start()
    reader.feed(a_batch(rows(1), source="one"))
    reader.feed(a_batch(rows(2), source="two", order=1))
    session.drain()
    reader.feed(a_batch(steps(101, {"loss": [3.0]}), source="two", order=1, hparams={"lr": 5}))
    changes = session.drain()
    assert (changes.runs, changes.moved) == ({OTHER}, ())
    assert session.views[OTHER].data.last_step == 101
    assert session.views[OTHER].hyperparameters.values == {"lr": 5}
    assert session.views[HERE].data.last_step == 100

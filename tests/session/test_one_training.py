"""The files of one training, as they lie and grow on disk: each point once, under one name."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rltui.session.session import Session
from rltui.sources import Reader
from rltui.store import RunData, Store
from tests.formats import encode

RNG = np.random.default_rng(5)
KL = np.abs(0.01 * RNG.standard_normal(40)).astype(np.float32)
FRAMES = [2048 * k for k in range(1, 41)]


def event(step: int, **values: float) -> bytes:
    simple = (encode.simple(t.replace("__", "/").encode(), v) for t, v in values.items())
    return b"".join(encode.event(step, 1.78e9 + step, value) for value in simple)


class Baselines:
    """A table with the environment steps beside an event file whose rows are numbered."""

    def __init__(self, directory: Path) -> None:
        self.table = directory / "progress.csv"
        self.events = directory / "tb" / "events.out.tfevents.1780000000.h"
        directory.mkdir()

    def write(self, path: Path, rows: Sequence[int]) -> None:
        new = not path.exists()
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            if path == self.table:
                lines = [f"{KL[i]:.6g},{2.5 * (i + 1):g},0.5,{FRAMES[i]}\n" for i in rows]
                head = "approxkl,eprewmean,explained_variance,total_timesteps\n" if new else ""
                file.write((head + "".join(lines)).encode())
            else:
                file.write(encode.header() if new else b"")
                for i in rows:
                    columns = {"approxkl": float(KL[i]), "eprewmean": 2.5 * (i + 1)}
                    file.write(event(i + 1, **columns, explained_variance=0.5))


def only(store: Store) -> RunData:
    (run,) = store.runs.values()
    return run


@pytest.mark.parametrize("first", ["table", "events"])
def test_a_table_and_numbered_events_in_any_order_of_arrival(first: str, tmp_path: Path) -> None:
    training = Baselines(tmp_path / "exp")
    paths = [training.table, training.events]
    if first == "events":
        paths.reverse()
    reader, store = Reader([tmp_path]), Store()
    for path, rows in (
        (paths[0], range(5)),
        (paths[1], range(6)),
        (paths[0], range(5, 25)),
        (paths[1], range(6, 40)),
        (paths[0], range(25, 40)),
    ):
        training.write(path, rows)
        reader.scan()
        for batch in reader.read_all():
            store.apply(batch)
        run = only(store)
        assert run.key.name == "exp"
        for tag in ("approxkl", "eprewmean", "explained_variance"):
            steps = run.series(tag).steps.tolist()
            assert len(steps) == len(set(steps)) <= 40
    for tag in ("approxkl", "eprewmean", "explained_variance"):
        assert only(store).series(tag).steps.tolist() == FRAMES
    np.testing.assert_allclose(only(store).series("approxkl").values, KL, rtol=1e-5)


def test_a_resume_on_two_axes_hides_nothing(tmp_path: Path) -> None:
    for number, episodes in enumerate((range(5, 505, 5), range(505, 1000, 5))):
        rows = (event(e, Episodic=e) + event(e * 2000, Average=e) for e in episodes)
        path = tmp_path / f"events.out.tfevents.178000000{number}.h"
        path.write_bytes(encode.header() + b"".join(rows))
    session = Session([tmp_path])
    session.read_all()
    (view,) = session.runs()
    assert [view.data.series(t).count for t in ("Episodic", "Average")] == [199, 199]
    assert view.data.extent.restarts == ()

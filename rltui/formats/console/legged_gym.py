"""Robot learning: rsl_rl's blocks below ``Learning iteration 12/1500`` (legged_gym, Isaac Lab) and
rl_games' ``fps step: .. epoch: 3/500 frames: 4096``.

Names are those of the event files (rsl_rl/runners/on_policy_runner.py,
rl_games/algos_torch/torch_ext.py and a2c_common.py).
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import NUMBER, plain

_ITERATION = re.compile(rb"Learning iteration (\d{1,15})/(\d{1,15})")
_LINE = re.compile(rb"^([A-Za-z][\w/ .()-]{0,120}?):\s+(" + NUMBER + rb")(?: ?s| steps/s)?$")
_COMPUTATION = re.compile(
    rb"^Computation:\s+(\d+) steps/s \(collection:? ?([\d.]+)s, learning ([\d.]+)s\)"
)
#: Printed name -> name in rsl_rl's event files.
_NAMES = {
    b"Mean reward": b"Train/mean_reward",
    b"Mean episode length": b"Train/mean_episode_length",
    b"Value function loss": b"Loss/value_function",
    b"Surrogate loss": b"Loss/surrogate",
    b"Mean action noise std": b"Policy/mean_noise_std",
    b"Mean action std": b"Policy/mean_std",
    b"Steps per second": b"Perf/total_fps",
    b"Collection time": b"Perf/collection_time",
    b"Learning time": b"Perf/learning_time",
}
#: The end of a block: totals and times, which the event files do not have.
_TOTALS = (b"Total timesteps", b"Total steps", b"Iteration time", b"Total time", b"ETA", b"Time ")
_MAX_LINES = 300
_GAMES = re.compile(
    rb"fps step: (\d+\.?\d*) fps step and policy inference: (\d+\.?\d*) +fps total: (\d+\.?\d*)"
    rb" epoch: (\d{1,15})(?:/(\d{1,15}))?(?: frames: (\d{1,15})(?:/(\d{1,15}))?)?"
)
_GAMES_NAMES = (
    b"performance/step_fps",
    b"performance/step_inference_fps",
    b"performance/step_inference_rl_update_fps",
)


class LeggedGym(Dialect):
    """The dialect of rsl_rl: legged_gym and Isaac Lab."""

    markers = (b"Learning iteration ",)

    def __init__(self) -> None:
        super().__init__()
        self._step: int | None = None
        self._cells: dict[bytes, float] = {}
        self._lines = 0

    @property
    def open(self) -> bool:
        """Whether a block continues."""
        return self._step is not None

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        found = _ITERATION.search(plain(line))
        if not found:
            return False
        self._step, self._cells, self._lines = int(found[1]), {}, 0
        rows.total = int(found[2])
        return True

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """A line of a block; the row is complete where the totals begin."""
        text = plain(line)
        self._lines += 1
        if self._cells and (text.startswith((b"-----", b"#####")) or text.startswith(_TOTALS)):
            self._finish(rows)
            return
        if self._lines > _MAX_LINES or text.startswith(b"#####"):
            self._step = None
            return
        speed = _COMPUTATION.match(text)
        if speed:
            self._cells[b"Perf/total_fps"] = float(speed[1])
            self._cells[b"Perf/collection time"] = float(speed[2])
            self._cells[b"Perf/learning_time"] = float(speed[3])
            return
        found = _LINE.match(text)
        if found and not found[1].startswith(_TOTALS):
            self._cells[_rsl_name(found[1])] = float(found[2])

    def close(self, rows: ConsoleRows) -> None:
        """A block without its totals."""
        if self._cells:
            self._finish(rows)

    def _finish(self, rows: ConsoleRows) -> None:
        step, self._step = self._step, None
        if step is not None:
            self._add_cells(rows, step, self._cells)


def _rsl_name(name: bytes) -> bytes:
    known = _NAMES.get(name)
    if known is not None or b"/" in name:
        return known or name
    if name.startswith(b"Mean episode "):
        return b"Episode/" + name[len(b"Mean episode ") :]
    if name.startswith(b"Mean ") and name.endswith(b" loss"):
        return b"Loss/" + name[len(b"Mean ") : -len(b" loss")]
    return name


class RlGames(Dialect):
    """The dialect of rl_games."""

    markers = (b"fps step and policy inference: ",)

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        found = _GAMES.search(plain(line))
        if not found:
            return False
        by_frames = found[6] is not None
        step = int(found[6] if by_frames else found[4])
        total = found[7] if by_frames else found[5]
        if total:
            rows.total = int(total)
        self._add(rows, _GAMES_NAMES, step, [float(found[i]) for i in (1, 2, 3)])
        return True

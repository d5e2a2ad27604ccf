"""The configuration that verl prints into its console log."""

from pprint import pformat

import pytest

from rltui.formats.base import Decoded
from rltui.formats.console.console_decoder import ConsoleDecoder

CONFIG = {
    "actor_rollout_ref": {
        "actor": {"optim": {"lr": 1e-06}, "clip_ratio": 0.2, "checkpoint": ["model", "extra"]},
        "rollout": {"n": 8, "prompt_template": "a {b} and a very long text " * 6},
    },
    "trainer": {"total_epochs": 3, "device": None},
}
ROW = "step:1 - actor/pg_loss:-0.01 - critic/score/mean:0.4\n"


def printed(config: object, process: str = "(TaskRunner pid=7) ") -> str:
    lines = pformat(config).splitlines()
    lines.insert(4, "WARNING:2026-01-01 10:00:00,000:a worker is late")
    text = [f"\x1b[36m{process}\x1b[0m{line}" for line in lines]
    text.insert(3, "(WorkerDict pid=8) {'loading': 'weights'}")
    return "\n".join(text) + "\n"


def read(text: str, piece: int = 1 << 20) -> dict[str, object]:
    decoder, decoded, data = ConsoleDecoder(), Decoded(), text.encode()
    for start in range(0, len(data), piece):
        more = start + piece < len(data)
        decoded = decoded.then(decoder.feed(data[start : start + piece], more=more))
    return decoded.hparams


@pytest.mark.parametrize("piece", [37, 1 << 20])
def test_a_dump_between_lines_of_other_processes(piece: int) -> None:
    found = read("starting\n" + printed(CONFIG) + ROW, piece)
    assert found["actor_rollout_ref.actor.optim.lr"] == 1e-06
    assert found["actor_rollout_ref.actor.checkpoint"] == "[model, extra]"
    assert str(found["actor_rollout_ref.rollout.prompt_template"]).startswith("a {b} and")
    assert found["trainer.device"] is None
    assert "loading" not in found
    assert len(found) == 7


def test_the_dump_of_a_second_launch_wins() -> None:
    config = {**CONFIG, "trainer": {"total_epochs": 5}}
    text = printed(CONFIG) + ROW + printed(config, "(TaskRunner pid=9) ") + ROW
    assert read(text)["trainer.total_epochs"] == 5


def test_a_dump_that_is_never_closed_costs_nothing_more() -> None:
    begun = printed(CONFIG).splitlines()[:2]
    text = "\n".join([*begun, *["(TaskRunner pid=7)  'a': 1,"] * 30_000]) + "\n" + ROW
    assert read(text + printed(CONFIG) + ROW)["trainer.total_epochs"] == 3


def test_a_console_without_rows_has_no_settings() -> None:
    assert read(printed(CONFIG)) == {}


def test_what_looks_like_a_dump_is_no_code() -> None:
    assert read("{'actor_rollout_ref': {'a': __import__('os').getpid()}}\n" + ROW) == {}

"""Rows of JSON lines, as verl's file logger and other writers have them."""

import math

from tests.formats.sample import TAGS, VALUES, Sample


def _row(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    word = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, repr(value))
    word = "NaN" if math.isnan(value) else word
    cells = ",".join(f'"{t}":{word}' for t in TAGS)
    return f'{{"step":{step},"data":{{{cells}}}}}\n'.encode()


def _tagged(tags: tuple[str, ...]) -> bytes:
    escaped = [t.replace("\x1b", "\\u001b").replace("\t", "\\t") for t in tags]
    return ('{"step":1,' + ",".join(f'"{t}":1.0' for t in escaped) + "}\n").encode()


def _written(step: int, row: str) -> bytes:
    value = repr(_FINITE[step % len(_FINITE)])
    return (row.replace("STEP", str(step)).replace("VALUE", value) + "\n").encode()


#: Without NaN: these writers have other words for it, or leave it out.
_FINITE = (0.5, -2.0, 0.0, 3.0e38)
_SB3 = '{"train/loss": VALUE, "rollout/ep_rew_mean": VALUE, "time/total_timesteps": STEP}'
_SWIFT = (
    '{"loss": VALUE, "eval_loss": VALUE, "global_step/max_steps": "STEP/12",'
    ' "last_model_checkpoint": "/x"}'
)


def _variant(name: str, path: str, row: str, tags: tuple[str, ...]) -> Sample:
    rows = tuple(_written(s, row) for s in range(12))
    garbage = b"\x00garb{age\xff\n"
    return Sample("jsonl", path, rows, garbage, tags=tags, values=_FINITE, variant=name)


SAMPLES = (
    _variant("sb3", "progress.json", _SB3, ("train/loss", "rollout/ep_rew_mean")),
    _variant("swift", "logging.jsonl", _SWIFT, ("train/loss", "eval/loss")),
    Sample(
        "jsonl",
        "run.jsonl",
        tuple(_row(s) for s in range(12)),
        b"\x00garb{age\xff\n",
        huge=b'{"step":' + b"9" * 1000,
        huge_ends=b"\n",
        tagged=_tagged,
    ),
)

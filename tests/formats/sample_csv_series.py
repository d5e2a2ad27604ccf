"""One metric without a header, as d3rlpy and TorchRL write it."""

from tests.formats.sample import VALUES, Sample

_GARBAGE = b"\x00garb{age\xff\n"

SAMPLES = (
    Sample(
        "csv_series",
        "d3rlpy_logs/CQL_20240131123456/td_loss.csv",
        tuple(f"{s + 1},{s},{VALUES[s % len(VALUES)]!r}\n".encode() for s in range(12)),
        _GARBAGE,
        tags=("td_loss",),
        variant="d3rlpy",
    ),
    Sample(
        "csv_series",
        "exp/scalars/train/reward.csv",
        tuple(f"{s},{VALUES[s % len(VALUES)]!r}\n".encode() for s in range(12)),
        _GARBAGE,
        tags=("train/reward",),
        variant="torchrl",
    ),
)

"""Rows of tables with a header, as different writers separate and quote them."""

from tests.formats.sample import TAGS, VALUES, Sample


def _cell(text: str, delimiter: str) -> str:
    if any(c in text for c in (delimiter, '"', "\n")):
        return '"' + text.replace('"', '""') + '"'
    return text


def _table(delimiter: str, end: str, begin: bytes = b"") -> tuple[bytes, ...]:
    header = delimiter.join(("step", *(_cell(t, delimiter) for t in TAGS)))
    rows = [begin + (header + end).encode()]
    for step in range(12):
        value = VALUES[step % len(VALUES)]
        cells = [str(step), *[repr(value)] * len(TAGS)]
        rows.append((delimiter.join(cells) + end).encode())
    return tuple(rows)


def _tagged(tags: tuple[str, ...]) -> bytes:
    cells = [f'"{t}"' for t in tags]
    return (
        ",".join(("step", *cells)) + "\n" + ",".join("1" for _ in ("step", *tags)) + "\n"
    ).encode()


def _texts() -> tuple[bytes, ...]:
    """With a quoted column of JSON and one of words, as Ray's tables have them."""
    rows = [b"host,step," + ",".join(TAGS).encode() + b',"config, all"\r\n']
    for step in range(12):
        value = VALUES[step % len(VALUES)]
        cells = ",".join([repr(value)] * len(TAGS))
        rows.append(f'node_{step},{step},{cells},"{{""a"": [1,\n 2]}}"\r\n'.encode())
    return tuple(rows)


_GARBAGE = b"\x00garb{age\xff\n"

SAMPLES = (
    Sample("csv", "run.csv", _table(",", "\n"), _GARBAGE, preamble=1, tagged=_tagged),
    Sample(
        "csv", "run.csv", _table(";", "\r\n", b"\xef\xbb\xbf"), _GARBAGE, 1, variant="semicolon"
    ),
    Sample("csv", "progress.txt", _table("\t", "\n"), _GARBAGE, 1, variant="tab"),
    Sample("csv", "run.csv", _texts(), _GARBAGE, 1, variant="quoted texts"),
    Sample(
        "csv",
        "1.monitor.csv",
        (
            b'#{"t_start": 1795163005.96, "env_id": "CartPole-v1"}\n',
            b"r,l,t\n",
            *(f"{float(s > 0)},{int(s > 0)},{s}.5\n".encode() for s in range(12)),
        ),
        _GARBAGE,
        preamble=2,
        tags=("monitor/1/r", "monitor/1/l"),
        values=(0.0, *[1.0] * 11),
        variant="monitor",
    ),
)

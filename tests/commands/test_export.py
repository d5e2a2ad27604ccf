"""export: every point of the store comes out, in every form, whatever the tags are called."""

import csv
import io
import math
import os
import stat
from pathlib import Path

import pytest

from rltui.core.batch import RunKey
from rltui.core.installation import to_add
from rltui.files.disk import target_file
from rltui.output.points import CHUNK, csv_lines, export_names, export_rows, json_lines
from rltui.session import Session
from tests.builders import a_batch, a_block, a_source, read_session
from tests.commands.conftest import Cli, write_jsonl
from tests.fakes import a_session
from tests.formats.encode import event, header, simple

COLUMNS = ["run", "tag", "step", "wall_time", "value", "superseded"]
Point = tuple[str, str, int, float | None, float, bool]

NAN, INF = float("nan"), float("inf")
HOSTILE = (
    'quote "me", please',
    "\x1b[31mred\x1b[0m",
    "a\nb\rc",
    "=1+1",
    " blank ",
    "[a-z]*",
    "🔥 損失",
    "\\",
)


def same(one: list[Point], other: list[Point]) -> bool:
    """Equal point for point; NaN equals NaN."""
    return repr(one) == repr(other)


def from_csv(text: str) -> list[Point]:
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == COLUMNS
    truth = {"true": True, "false": False}
    return [
        (run, tag, int(step), float(wall) if wall else None, float(value), truth[old])
        for run, tag, step, wall, value, old in rows[1:]
    ]


def of_store(session: Session) -> list[Point]:
    """The points one by one, as the store has them."""
    points: list[Point] = []
    for run in session.runs():
        for tag in run.data.tags:
            series = run.series(tag)
            old = zip(*series.old_points, strict=True)
            new = zip(series.steps, series.wall_times, series.values, strict=True)
            every = [(*p, True) for p in old] + [(*p, False) for p in new]
            points += [
                (run.key.name, tag, int(s), None if math.isnan(w) else float(w), float(v), o)
                for s, w, v, o in sorted(every, key=lambda p: p[0])
            ]
    return points


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """JSON lines without times and with what is not finite, and event files of a resumed run."""
    logdir = tmp_path / "logs"
    tags = {tag: [float(i) + n / 3 for i in range(5)] for n, tag in enumerate(HOSTILE)}
    tags["loss"] = [1e-300, -0.0, NAN, INF, -INF]
    write_jsonl(logdir / "lines.jsonl", tags)
    (logdir / "events").mkdir()
    for number, (first, last) in enumerate([(1, 20), (11, 25)]):
        records = b"".join(
            event(s, 1.7e9 + 100 * number + s / 3, simple(b"reward", 0.1 * s), simple(b"kl", NAN))
            for s in range(first, last)
        )
        name = f"events.out.tfevents.{1_700_000_000 + number}.host"
        (logdir / "events" / name).write_bytes(header() + records)
    return logdir


# -- what comes out ------------------------------------------------------------------------


def test_csv_holds_every_point_of_the_store(cli: Cli, logs: Path) -> None:
    result = cli("export", logs)
    assert (result.code, result.err) == (0, "")
    assert same(from_csv(result.out), of_store(read_session([logs])))
    assert all(c.isprintable() or c == "\n" for c in result.out), "no escape of a tag"


def test_parquet_holds_every_point_of_the_store(cli: Cli, logs: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert cli("export", logs, "-o", tmp_path / "all.parquet").code == 0
    table = parquet.read_table(tmp_path / "all.parquet")
    assert table.column_names == COLUMNS
    kinds = [str(f.type) for f in table.schema]
    assert kinds[2:] == ["int64", "double", "double", "bool"]
    assert all(k.startswith("dictionary<values=string") for k in kinds[:2])
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert same(rows, of_store(read_session([logs])))


def test_a_resumed_run_has_its_overwritten_points_marked(cli: Cli, logs: Path) -> None:
    points = [p for p in from_csv(cli("export", logs).out) if p[1] == "reward"]
    assert [p[2] for p in points if p[5]] == list(range(11, 20))
    assert [p[2] for p in points if not p[5]] == list(range(1, 25))
    assert [p[2] for p in points] == sorted(p[2] for p in points)
    twice = [p[5] for p in points if p[2] == 15]
    assert twice == [True, False], "the overwritten point comes first"


def test_derived_series_are_not_exported(cli: Cli, well: Path) -> None:
    [run] = read_session([well]).runs()
    derived = set(run.infos) - set(run.data.tags)
    assert derived
    assert {p[1] for p in from_csv(cli("export", well).out)} == set(run.data.tags)
    assert cli("export", well, "--tag", derived.pop()).code == 2


def long_series(points: int, old: int = 0) -> Session:
    """A run of one tag that is longer than a chunk, ``old`` points of it overwritten."""
    block = a_block({"loss": [float(i) for i in range(points)]}, first=1)
    batches = [a_batch(block, source=a_source("events.0", 0))]
    if old:
        later = a_block({"loss": [0.5] * old}, first=points - old + 1)
        batches.append(a_batch(later, source=a_source("events.1", 1)))
    return a_session(*batches)


@pytest.mark.parametrize("old", [0, CHUNK + 7])
def test_long_series_come_in_pieces_without_a_seam(old: int) -> None:
    session = long_series(3 * CHUNK + 1, old)
    parts = list(export_rows([("x", session.runs()[0])]))
    assert len(parts) > 3
    assert max(len(p.steps) for p in parts) == CHUNK
    text = b"".join(csv_lines(parts)).decode()
    points = from_csv(",".join(COLUMNS) + "\n" + text)
    assert same([(".", *p[1:]) for p in points], of_store(session))
    assert sum(p[5] for p in points) == old


def test_text_of_a_row_of_each_kind() -> None:
    block = a_block({"t": [1.0, NAN]}, walls=[1.5, NAN])
    session = a_session(a_batch(block, run=RunKey(0, "r")))
    [rows] = export_rows(zip(export_names(session, session.runs()), session.runs(), strict=True))
    assert list(csv_lines([rows])) == [b"r,t,1,1.5,1.0,false\nr,t,2,,nan,false\n"]
    assert b"".join(json_lines([rows])).splitlines() == [
        b'{"run":"r","tag":"t","step":1,"wall_time":1.5,"value":1.0,"superseded":false}',
        b'{"run":"r","tag":"t","step":2,"wall_time":null,"value":null,"nonfinite":"nan",'
        b'"superseded":false}',
    ]


# -- which tags ----------------------------------------------------------------------------


def tags_of(cli: Cli, logs: Path, *arguments: str) -> set[str]:
    result = cli("export", logs, *arguments)
    assert result.code == 0, result.err
    return {p[1] for p in from_csv(result.out)}


def test_globs_add_up(cli: Cli, bad_logs: Path) -> None:
    assert tags_of(cli, bad_logs, "--tag", "actor/ent*", "--tag", "critic/score/m[ai]*") == {
        "actor/entropy",
        "critic/score/max",
        "critic/score/min",
    }


def test_a_tag_full_of_glob_characters_and_a_metric(cli: Cli, logs: Path, bad_logs: Path) -> None:
    assert tags_of(cli, logs, "--tag", "[a-z]*") >= {"[a-z]*", "loss"}
    assert tags_of(cli, bad_logs, "--tag", "entropy") == {"actor/entropy"}


def test_an_unknown_tag_names_the_nearest(cli: Cli, bad_logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "points.csv"
    result = cli("export", bad_logs, "--tag", "actor/entropy", "--tag", "actor/ppo_kk", "-o", out)
    assert (result.code, result.out) == (2, "")
    assert "no logged tag or metric 'actor/ppo_kk'; did you mean 'actor/ppo_kl'?" in result.err
    assert not out.exists()


def test_nothing_to_export_is_3(cli: Cli, bad_logs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    out = tmp_path / "points.csv"
    for arguments, said in (
        ([tmp_path / "empty"], "no readable log"),
        ([bad_logs, "--run", "nope"], "no run matches 'nope'"),
    ):
        result = cli("export", *arguments, "-o", out)
        assert (result.code, result.out) == (3, "")
        assert said in result.err
        assert not out.exists()


# -- where to ------------------------------------------------------------------------------


def test_the_ending_of_the_file_chooses_the_format(
    cli: Cli, bad_logs: Path, tmp_path: Path
) -> None:
    for name, first in (("x.csv", b"run,"), ("x.JSONL", b'{"run"'), ("x.ndjson", b'{"run"')):
        result = cli("export", bad_logs, "-o", tmp_path / name)
        assert (result.code, result.out, result.err) == (0, "", "")
        assert (tmp_path / name).read_bytes().startswith(first)
    cli("export", bad_logs, "--format", "csv", "-o", tmp_path / "y.jsonl")
    assert (tmp_path / "y.jsonl").read_bytes().startswith(b"run,")


def test_an_address_is_no_place_to_write_to(cli: Cli, logs: Path) -> None:
    result = cli("export", logs, "-o", "s3://b/x.csv")
    assert (result.code, result.out) == (2, "")
    assert "writes to this machine only" in result.err


@pytest.mark.parametrize("place", ["out.csv", "events/out.csv", "../logs/out.csv", "lines.jsonl"])
def test_nothing_is_written_into_a_log_directory(cli: Cli, logs: Path, place: str) -> None:
    before = sorted(p.name for p in logs.rglob("*"))
    result = cli("export", logs, "-o", logs / place)
    assert (result.code, result.out) == (2, "")
    assert "inside the log directory" in result.err
    assert sorted(p.name for p in logs.rglob("*")) == before


def test_nor_through_a_link(cli: Cli, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(logs, target_is_directory=True)
    (tmp_path / "x.csv").symlink_to(logs / "x.csv")
    for place in (tmp_path / "link" / "x.csv", tmp_path / "x.csv"):
        assert cli("export", logs, "-o", place).code == 2
    assert not (logs / "x.csv").exists()


def test_places_that_cannot_be_written(cli: Cli, bad_logs: Path, tmp_path: Path) -> None:
    for place, words in (
        (tmp_path, "is a directory"),
        (tmp_path / "gone" / "x.csv", "no such directory"),
        (tmp_path / ("x" * 300 + ".csv"), "cannot be written"),
        ("a\0b", "cannot be written"),
    ):
        result = cli("export", bad_logs, "-o", place)
        assert (result.code, result.out) == (2, ""), place
        assert words in result.err


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")

    def fail_half_way() -> None:
        with target_file(path) as out:
            out.write(b"half")
            assert path.read_text() == "old"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_permissions_of_the_file(tmp_path: Path) -> None:
    path, mask = tmp_path / "x.csv", os.umask(0o027)
    try:
        with target_file(path) as out:
            out.write(b"x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        with target_file(path) as out:
            out.write(b"y")
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(mask)


# -- pipes and missing packages ------------------------------------------------------------


def test_without_pyarrow_it_says_what_to_install(
    cli: Cli, bad_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.core.installation.find_spec", lambda name: None)
    result = cli("export", bad_logs, "-o", tmp_path / "x.parquet")
    assert (result.code, result.out) == (2, "")
    assert to_add("pyarrow") in result.err
    assert not (tmp_path / "x.parquet").exists()


def test_parquet_is_not_printed_on_a_terminal(
    cli: Cli, bad_logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.core.installation.find_spec", lambda name: object())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    result = cli("export", bad_logs, "--format", "parquet")
    assert (result.code, result.out) == (2, "")
    assert "-o FILE" in result.err


# -- real logs -----------------------------------------------------------------------------


def test_points_that_were_unloaded_come_out_too(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        write_jsonl(tmp_path / "logs" / f"{name}.jsonl", {f"t{i}": [0.5] * 2000 for i in range(40)})
    whole = cli("export", tmp_path / "logs").out
    monkeypatch.setenv("RLTUI_WATCH_MEMORY_BYTES", str(1 << 20))
    assert cli("export", tmp_path / "logs").out == whole


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1+2", "@SUM(A1)", " =1", "\uff1d1"])
def test_a_spreadsheet_runs_no_name(name: str, cli: Cli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "log.jsonl", {name: [1.0, -2.0], "loss": [0.5, 0.25]})
    plain = from_csv(cli("export", tmp_path).out)
    result = cli("export", tmp_path, "--spreadsheet")
    assert (result.code, result.err) == (0, "")
    safe = from_csv(result.out)
    assert {point[1] for point in safe} == {f"'{name}", "loss"}
    assert [point[2:] for point in safe] == [point[2:] for point in plain]


def test_only_csv_is_for_a_spreadsheet(cli: Cli, logs: Path) -> None:
    result = cli("export", logs, "--spreadsheet", "--format", "jsonl")
    assert (result.code, result.out) == (2, "")
    assert "--spreadsheet is for CSV, not for jsonl" in result.err

"""Addresses of logdirs elsewhere."""

import os
from pathlib import Path

import pytest

from rltui.core.address import identity, is_remote, parse_logdir, spelled_out
from rltui.core.errors import UsageError
from tests.tables import cases


@cases(__file__, "an_address_keeps_its_parts_and_its_text")
def test_an_address_keeps_its_parts_and_its_text(
    text: str, scheme: str, authority: str, place: str
) -> None:
    path = parse_logdir(text)
    assert (path.scheme, path.authority, path.place) == (scheme, authority, place)
    assert str(path) == os.fspath(path) == identity(path) == text
    assert parse_logdir(str(path)) == path


@cases(__file__, "an_address_has_one_spelling")
def test_an_address_has_one_spelling(text: str, shown: str) -> None:
    assert str(parse_logdir(text)) == shown
    assert str(parse_logdir(shown)) == shown


def test_what_exists_here_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("node7:runs").mkdir()
    assert not is_remote(parse_logdir("node7:runs"))


@pytest.mark.parametrize("text", ["runs", "./a:b", "/data/a:b", "-", "a b:c", "a\0b"])
def test_other_names_are_paths_here(text: str) -> None:
    assert parse_logdir(text) == Path(text)
    assert not is_remote(parse_logdir(text))


def test_a_file_url_is_a_path_here() -> None:
    assert parse_logdir("file:///data/runs") == Path("/data/runs")
    assert not is_remote(parse_logdir("file:///data/runs"))


def test_children_and_parents_stay_elsewhere() -> None:
    run = parse_logdir("s3://bucket/runs") / "a" / "events.jsonl"
    assert is_remote(run)
    assert is_remote(run.parent)
    assert (str(run.parent), run.name) == ("s3://bucket/runs/a", "events.jsonl")
    assert str(run.relative_to(run.parent.parent)) == "a/events.jsonl"
    assert str(run.relative_to(run)) == "."
    assert len({run, parse_logdir("s3://bucket/runs/a/events.jsonl")}) == 1
    assert run.resolve() == run.absolute() == run.expanduser() == run


def test_a_password_is_refused_and_never_shown() -> None:
    with pytest.raises(UsageError) as error:
        parse_logdir("sftp://me:hunter2@host/runs")
    assert "hunter2" not in str(error.value)
    assert "password" in str(error.value)


def test_a_web_server_is_refused_and_its_signature_never_shown() -> None:
    for text in ("https://b.s3.amazonaws.com/x?X-Amz-Signature=hunter2", "HTTP://host?sig=hunter2"):
        with pytest.raises(UsageError, match=r"HOST:PATH \(ssh\), s3://") as error:
            parse_logdir(text)
        assert "hunter2" not in str(error.value)
    assert str(parse_logdir("s3://bucket/a?b")) == "s3://bucket/a?b"


def test_a_host_is_needed() -> None:
    with pytest.raises(UsageError, match="has no host"):
        parse_logdir("ssh:///data")


def test_sftp_names_the_address_to_use_instead() -> None:
    with pytest.raises(UsageError, match=r"is not read over sftp: name HOST:PATH \(ssh\)"):
        parse_logdir("sftp://me@node7:22/data")


def test_an_empty_path_is_not_the_working_directory() -> None:
    with pytest.raises(UsageError, match=r"the path is empty"):
        parse_logdir("")


@pytest.mark.parametrize(
    ("text", "meant"),
    [("s3:/b/x", "s3://b/x"), ("s3:b/x", "s3://b/x"), ("gs:b", "gs://b"), ("Ray:/x", "ray://x")],
)
def test_a_protocol_without_its_slashes_is_no_host(text: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean {meant}\\?"):
        parse_logdir(text)
    assert str(parse_logdir(f"me@{text}")).startswith("me@")


@cases(__file__, "addresses_of_libraries_are_spelled_out")
def test_addresses_of_libraries_are_spelled_out(text: str, shown: str) -> None:
    assert spelled_out(text) == shown

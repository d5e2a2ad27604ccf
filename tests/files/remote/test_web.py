"""Hostile and broken web servers: what they send has bounds, and each bound says so."""

from __future__ import annotations

import gzip
import socket
import tracemalloc
import zlib
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="the extra remote is not installed")

from rltui.core.address import parse_logdir
from rltui.core.errors import RltuiError
from rltui.files.remote import web
from rltui.sources import Reader
from tests.files.remote.hostile_web import Asked, HostileWeb, head, hostile, links, ok

BYTES = {"Content_Type": "application/octet-stream"}
ROWS = "".join(f'{{"step": {s}, "loss": {1 / s}}}\n' for s in range(1, 41)).encode()


def found(server: HostileWeb, path: str = "/runs/") -> tuple[int, str]:
    """How many points are read below an address, and what is said."""
    reader = Reader([parse_logdir(server.url + path)])
    try:
        batches = list(reader.read_all())
        points = sum(b.points for batch in batches for b in batch.blocks)
        notes = [
            *reader.state.notes,
            *reader.state.unclaimed,
            *(n for b in batches for n in b.notes),
        ]
    except RltuiError as error:
        return 0, str(error)
    return points, "; ".join(note.message for note in notes)


def log(asked: Asked) -> list[bytes]:
    """The log below /runs/, as a server sends it that knows ranges."""
    begin, _, end = asked.headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")
    part = ROWS[int(begin) : int(end) + 1 if end else None]
    if "range" not in asked.headers:
        size = ok(ROWS, **BYTES)
        return [size if asked.method == "GET" else size[: -len(ROWS)]]
    where = f"bytes {begin}-{int(begin) + len(part) - 1}/{len(ROWS)}"
    return [head(206, Content_Length=len(part), Content_Range=where, **BYTES) + part]


def shelf(asked: Asked) -> Iterable[bytes]:
    """A directory with one log."""
    if asked.path == "/runs/":
        return [ok(links(["a.jsonl"]))]
    return log(asked) if asked.path == "/runs/a.jsonl" else [head(404, Content_Length=0)]


def test_a_list_of_names_without_an_end() -> None:
    def answer(asked: Asked) -> Iterator[bytes]:
        if asked.path != "/runs/":
            yield from shelf(asked)
            return
        yield head(200) + links(["a.jsonl"])
        number = 0
        while True:
            yield links(f"{'x' * 2000}{number + n}.txt" for n in range(20))
            number += 20

    with hostile(answer) as server:
        tracemalloc.start()
        points, said = found(server)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert points == 40
    assert "lists more than 16 MB of names" in said
    assert peak < 12 * web.MOST_LISTED


def test_directories_without_an_end() -> None:
    def answer(asked: Asked) -> Iterable[bytes]:
        if asked.path.endswith("/"):
            return [ok(links([*(f"{n}/" for n in range(30)), "a.jsonl"]))]
        return log(asked)

    with hostile(answer) as server:
        reader = Reader([parse_logdir(f"{server.url}/runs/")])
        assert reader.scan()
        assert len(server.asked) <= 2200  # a round of 128 may be on its way
    said = "; ".join(note.message for note in reader.state.notes)
    assert "2,000" in said


@pytest.mark.parametrize("packed", ["gzip", "deflate"])
def test_a_list_that_unpacks_without_bound(packed: str) -> None:
    plain = b'<a href="a.jsonl">' + bytes(1 << 26)
    body = gzip.compress(plain) if packed == "gzip" else zlib.compress(plain)
    page = ok(body, Content_Encoding=packed)
    with hostile(lambda a: [page] if a.path == "/runs/" else shelf(a)) as server:
        tracemalloc.start()
        points, said = found(server)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert points == 0
    assert "unpacks to more than 100 times its size" in said
    assert peak < 1 << 26


def test_a_file_that_unpacks_without_bound() -> None:
    body = gzip.compress(ROWS + bytes(1 << 26))

    def answer(asked: Asked) -> Iterable[bytes]:
        if asked.path != "/runs/a.jsonl":
            return shelf(asked)
        whole = ok(body, Content_Encoding="gzip", **BYTES)
        return [whole if asked.method == "GET" else whole[: -len(body)]]

    with hostile(answer) as server:
        tracemalloc.start()
        _, said = found(server)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1 << 26
    assert said


def test_a_packing_that_nobody_asked_for() -> None:
    page = ok(b"\x8b\x02\x80abc\x03", Content_Encoding="br")
    with hostile(lambda a: [page] if a.path == "/runs/" else shelf(a)) as server:
        assert "comes packed by br" in found(server)[1]


@pytest.mark.parametrize("where", ["/runs/", "/runs/a.jsonl"], ids=["list", "file"])
@pytest.mark.parametrize("how", ["no answer", "silence", "drip", "endless head"])
def test_a_server_that_takes_its_time(
    monkeypatch: pytest.MonkeyPatch, where: str, how: str
) -> None:
    monkeypatch.setattr(web, "QUIET_S", 0.5)

    def answer(asked: Asked) -> Iterator[bytes]:
        if asked.path != where:
            yield from shelf(asked)
            return
        if how == "no answer":
            server.over.wait()
        elif how == "silence":
            yield head(200, Content_Length=100)
            server.over.wait()
        elif how == "drip":
            yield head(200, Content_Length=100_000)
            while not server.over.wait(0.05):
                yield b"x"
        else:
            yield b"HTTP/1.1 200 X\r\n"
            while not server.over.wait(0.05):
                yield b"X-More: x\r\n"

    with hostile(answer) as server:
        points, said = found(server)
        assert points == 0
        assert said


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\x01\x02garbage\r\n\r\n",
        b"HTTP/1.1 200 X\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\nhalf",
        b"HTTP/1.1 200 X\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
        b"HTTP/1.1 200 X\r\nX: " + b"y" * 1_000_000 + b"\r\n\r\n",
        head(302, Location="http://[::1"),
        head(302, Location=""),
    ],
    ids=[
        *("nothing", "garbage", "negative", "chunks", "half", "many headers", "long header"),
        *("bad redirect", "redirect to nothing"),
    ],
)
@pytest.mark.parametrize("where", ["/runs/", "/runs/a.jsonl"], ids=["list", "file"])
def test_broken_answers(where: str, answer: bytes) -> None:
    with hostile(lambda a: [answer] if a.path == where else shelf(a)) as server:
        points, said = found(server)
    assert points == 0
    assert said
    assert said.isprintable()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_on_the_same_server_is_followed(code: int) -> None:
    def answer(asked: Asked) -> Iterable[bytes]:
        if asked.path == "/old/":
            return [head(code, Location="/runs/", Content_Length=0)]
        return log(asked) if asked.path == "/old/a.jsonl" else shelf(asked)

    with hostile(answer) as server:
        assert found(server, "/old/")[0] == 40


def test_redirects_in_a_circle() -> None:
    around = head(302, Location="/runs/", Content_Length=0)
    with hostile(lambda _: [around]) as server:
        assert "redirects more than 5 times" in found(server)[1]
        assert len(server.asked) < 40


@pytest.mark.parametrize(
    "target", ["http://example.com/", "ftp://example.com/", "file:///etc/passwd"]
)
def test_a_redirect_to_another_host_is_followed_to_https_alone(target: str) -> None:
    with hostile(lambda _: [head(302, Location=target, Content_Length=0)]) as server:
        assert "redirects to" in found(server)[1]


def test_credentials_stay_with_the_server_that_was_named() -> None:
    """A server on this machine may lead to another one here."""
    with hostile(shelf) as second:
        away = head(302, Location=f"{second.url}/runs/a.jsonl", Content_Length=0)
        with hostile(lambda a: [away] if a.path.endswith("l") else shelf(a)) as first:
            first_url = first.url
            answer = _ask(
                first_url + "/runs/a.jsonl", {"Authorization": "Bearer secret", "X-Key": "k"}
            )
        assert answer == ROWS
        (asked,) = second.asked
        assert not {"authorization", "x-key", "cookie"} & asked.headers.keys()


def _ask(url: str, headers: dict[str, str]) -> bytes:
    found = web.BoundedWeb(headers=headers, asynchronous=False).cat_file(url)
    assert isinstance(found, bytes)
    return found


PRIVATE = [
    *("127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.9.9", "169.254.169.254", "0.0.0.0"),
    *("100.64.0.1", "::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"),
    *("2002:0a00:0001::1", "224.0.0.1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not web.is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_addresses_that_are_public(address: str) -> None:
    assert web.is_public(ip_address(address))


@pytest.mark.parametrize(
    "target",
    [
        "https://127.0.0.1:1/",
        "https://localhost:1/",
        "https://inner.example:1/",
        "http://inner.example/",
    ],
)
def test_a_public_server_never_leads_to_a_private_address(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Whatever its name is."""
    places = {"inner.example": "10.1.2.3", "127.0.0.1": "127.0.0.1"}
    looked_up = socket.getaddrinfo

    def lookup(host: Any, port: Any, *rest: Any, **options: Any) -> Any:
        return looked_up(places.get(host, host), port, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    addresses = web.BoundedSession._addresses
    with hostile(lambda _: [head(302, Location=target, Content_Length=0)]) as server:

        def stands_for_a_public_one(session: web.BoundedSession, at: web.URL) -> set[web.Address]:
            here = str(at).startswith(server.url)
            return {ip_address("8.8.8.8")} if here else addresses(session, at)

        monkeypatch.setattr(web.BoundedSession, "_addresses", stands_for_a_public_one)
        said = found(server)[1]
    assert "no public host" in said or "only https is" in said

"""The app in a browser: the protocol of textual-serve, and a real browser where there is one."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parents[2]
LOGDIR = ROOT / "tests" / "fixtures" / "labelled" / "verl"
PATIENCE_S = 60.0
DRIVER = "textual.drivers.web_driver:WebDriver"


def environment(home: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(home), "PYTHONPATH": str(ROOT), **more}


@contextmanager
def served(home: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A verb as textual-serve starts it."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-m", "rltui", *arguments],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=environment(home, TEXTUAL_DRIVER=DRIVER, COLUMNS="100", ROWS="30"),
    )
    with process:  # closes the streams
        try:
            yield process
        finally:
            process.kill()


def packet(stream: IO[bytes]) -> tuple[bytes, bytes]:
    """Kind and content of the next packet."""
    kind, size = stream.read(1), int.from_bytes(stream.read(4), "big")
    return kind, stream.read(size)


def meta(**content: str) -> bytes:
    data = json.dumps(content).encode()
    return b"M" + len(data).to_bytes(4, "big") + data


def shown(process: subprocess.Popen[bytes], words: bytes) -> bytes:
    """What was painted until ``words`` appeared."""
    assert process.stdout is not None
    found = b""
    while words not in found:
        kind, content = packet(process.stdout)
        assert kind in (b"D", b"M", b"P"), f"ended before {words!r}"
        found += content if kind == b"D" else b""
    return found


@pytest.mark.parametrize("verb", ["watch", "replay"])
def test_the_app_speaks_the_protocol_and_quits(verb: str, tmp_path: Path) -> None:
    with served(tmp_path, verb, str(LOGDIR), "--run", "grpo_kl_blowup") as p:
        assert p.stdout.readline() == b"__GANGLION__\n"
        shown(p, b"grpo_kl_blowup")
        p.stdin.write(meta(type="quit"))
        p.stdin.flush()
        out, errors = p.communicate(timeout=PATIENCE_S)
        assert b"exit" in out
        assert errors == b""
        assert p.returncode == 0


def test_the_app_ends_with_the_server(tmp_path: Path) -> None:
    with served(tmp_path, "watch", str(LOGDIR)) as p:
        assert p.stdin is not None
        assert p.stderr is not None
        assert p.stdout.readline() == b"__GANGLION__\n"
        shown(p, b"grpo_kl_blowup")
        for stream in (p.stdin, p.stdout, p.stderr):
            stream.close()
        assert p.wait(PATIENCE_S) == 128 + 1


def test_a_pipe_cannot_be_watched_beside(tmp_path: Path) -> None:
    with served(tmp_path, "watch", "-") as p:
        _, errors = p.communicate(timeout=PATIENCE_S)
        assert b"standard input is what the browser sends" in errors
        assert p.returncode == 2


# -- examples/browser.py -------------------------------------------------------------------


@contextmanager
def example(home: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The server of the example, and the address that it prints."""
    pytest.importorskip("textual_serve", reason="the extra 'web' is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(ROOT / "examples/browser.py"), str(LOGDIR), str(port)]
    environ = {**environment(home), "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as server:
        try:
            address = server.stdout.readline().decode().strip()
            assert address.startswith(f"http://localhost:{port}/")
            yield server, address
        finally:
            server.kill()


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_page_is_below_a_secret_path_alone(tmp_path: Path) -> None:
    """Other users of the machine reach the port."""
    with example(tmp_path) as (_, address):
        place, _, secret = address.rstrip("/").rpartition("/")
        assert len(secret) > 20
        assert status(address) == 200
        for path in ("/", "/ws", "/static/js/textual.js", "/download/x", f"/{secret[1:]}/"):
            assert status(place + path) == 404, path


def test_the_server_ends_when_nobody_reads_it(tmp_path: Path) -> None:
    """As when the ssh that started it ends: without a terminal there is no signal. A tab that is
    still open does not keep it."""

    async def leave(server: subprocess.Popen[bytes], page: str) -> int:
        import aiohttp  # comes with textual-serve

        async with aiohttp.ClientSession() as http, http.ws_connect(f"{page}ws") as tab:
            await asyncio.wait_for(tab.receive_bytes(), PATIENCE_S)  # the app paints
            server.stdout.close()
            return await asyncio.to_thread(server.wait, PATIENCE_S)

    with example(tmp_path) as (server, address):
        assert asyncio.run(leave(server, address)) == 0

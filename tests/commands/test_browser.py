"""The app in a browser: the protocol of textual-serve, and a real browser where there is one."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from rltui.commands.terminal import has_terminal, in_browser

ROOT = Path(__file__).parents[2]
LOGDIR = ROOT / "tests" / "fixtures" / "labelled" / "verl"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
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
        assert p.stdin is not None
        assert p.stdout is not None
        assert p.stdout.readline() == b"__GANGLION__\n"
        shown(p, b"grpo_kl_blowup")
        p.stdin.write(meta(type="quit"))
        p.stdin.flush()
        out, errors = p.communicate(timeout=PATIENCE_S)
        assert b"exit" in out
        assert errors == b""
        assert p.returncode == 0


def test_it_ends_with_the_server(tmp_path: Path) -> None:
    with served(tmp_path, "watch", str(LOGDIR)) as p:
        assert p.stdin is not None
        assert p.stdout is not None
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


def test_another_driver_is_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.linux_driver:LinuxDriver")
    assert not in_browser()
    monkeypatch.setattr(sys, "stdin", None)
    assert not has_terminal()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nope"], "browser.py: /nope: no such file or directory\n"),
        (["https://host/runs?sig=x"], "browser.py: https://host/runs: a signature or token"),
        ([str(LOGDIR), "http"], "rltui in a browser: "),
        ([], "rltui in a browser: "),
    ],
)
def test_the_example_says_what_is_wrong_before_it_serves(arguments: list[str], said: str) -> None:
    example = [sys.executable, str(ROOT / "examples/browser.py"), *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        example, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(said)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_shows_the_example(tmp_path: Path) -> None:
    pytest.importorskip("textual_serve", reason="the extra 'web' is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(ROOT / "examples/browser.py"), str(LOGDIR), str(port)]
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment(tmp_path))
    try:
        picture = asyncio.run(_picture(port, tmp_path / "profile"))
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 50_000  # an empty terminal has 12,000


async def _picture(port: int, profile: Path) -> bytes:
    """A picture of the page once the app has painted, as PNG."""
    import aiohttp  # comes with textual-serve

    async with aiohttp.ClientSession() as http:
        await _reached(http, f"http://localhost:{port}/")
        browser = await asyncio.create_subprocess_exec(
            str(CHROMIUM),
            *("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"),
            *("--window-size=1200,700", f"--user-data-dir={profile}", f"http://localhost:{port}/"),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            assert browser.stderr is not None
            line = b""
            while b"DevTools listening on" not in line:
                line = await asyncio.wait_for(browser.stderr.readline(), PATIENCE_S)
                assert line, "the browser has ended"
            debugger = line.decode().split(":")[-1].split("/")[0]
            return await _painted(http, f"http://127.0.0.1:{debugger}/json")
        finally:
            browser.terminate()
            await browser.wait()


async def _reached(http: object, url: str) -> None:
    """Wait until the server answers."""
    while not await _answers(http, url):
        await asyncio.sleep(0.1)


async def _answers(http: object, url: str) -> bool:
    import aiohttp

    assert isinstance(http, aiohttp.ClientSession)
    try:
        async with http.get(url) as answer:
            return answer.status == 200
    except aiohttp.ClientConnectionError:
        return False


async def _painted(http: object, pages: str) -> bytes:
    """Take pictures until one is more than an empty terminal; the last one anyway."""
    import aiohttp

    assert isinstance(http, aiohttp.ClientSession)
    async with http.get(pages) as answer:
        page = next(p for p in await answer.json() if p["type"] == "page")
    async with http.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket_:
        picture = b""
        for number in range(1, 60):
            await socket_.send_json({"id": number, "method": "Page.captureScreenshot"})
            while (message := await socket_.receive_json()).get("id") != number:
                pass
            picture = base64.b64decode(message["result"]["data"])
            if len(picture) > 50_000:
                break
            await asyncio.sleep(0.5)
        return picture

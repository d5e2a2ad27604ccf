"""The server of ``serve-metrics``: one page, whatever clients do."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.commands.serve_metrics import MetricsServer
from rltui.commands.verbs import _listen_address
from rltui.core.errors import UsageError
from tests.tables import cases

PATIENCE_S = 60.0
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PAGE = b"rltui_level 2.0\n# EOF\n"


@pytest.fixture(scope="module")
def server() -> Iterator[MetricsServer]:
    """A server whose page is rendered by a thread, as the main loop does."""
    stop = threading.Event()

    def render() -> None:
        while not stop.is_set():
            if served.asked.wait(0.1):
                served.asked.clear()
                served.answer(lambda: PAGE)

    with MetricsServer(("127.0.0.1", 0)) as served:
        thread = threading.Thread(target=render)
        thread.start()
        yield served
        stop.set()
        thread.join()


def connection(server: MetricsServer) -> socket.socket:
    place = urlsplit(server.url)
    found = socket.create_connection((str(place.hostname), int(place.port or 0)), PATIENCE_S)
    found.settimeout(PATIENCE_S)
    return found


def sent(server: MetricsServer, request: bytes) -> bytes:
    """All that the server answers to some bytes."""
    with connection(server) as client:
        with contextlib.suppress(OSError):  # it may have answered and closed before the end
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(65536):
                answer += piece
    return answer


def page(server: MetricsServer) -> bytes:
    with urllib.request.urlopen(server.url, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Type"] == TEXT
        return bytes(answer.read())


def test_the_page(server: MetricsServer) -> None:
    assert page(server) == PAGE
    assert server.url.startswith("http://127.0.0.1:")


@cases(__file__, "only_get_of_the_page")
def test_only_get_of_the_page(server: MetricsServer, request_: str, status: str) -> None:
    answer = sent(server, request_.encode())
    assert answer.partition(b"\r\n")[0].decode() == f"HTTP/1.1 {status}"
    assert (PAGE in answer) == (status == "200 OK" and request_.startswith("GET"))


@cases(__file__, "the_page_has_the_format_that_is_asked_for")
def test_the_page_has_the_format_that_is_asked_for(
    server: MetricsServer, accept: str, kind: str
) -> None:
    request = urllib.request.Request(server.url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Type"] == (OPENMETRICS if kind == "openmetrics" else TEXT)
        assert answer.read() == PAGE


def test_the_server_answers_while_logs_are_read() -> None:
    with MetricsServer(("127.0.0.1", 0)) as server:  # nobody renders
        assert sent(server, b"GET /healthz HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\nok\n")
        head = sent(server, b"HEAD /healthz HTTP/1.1\r\n\r\n")
        assert b" 200 OK\r\n" in head
        assert head.endswith(b"\r\n\r\n")
        assert not server.asked.is_set()


@settings(deadline=None, max_examples=60)
@given(garbage=st.binary(max_size=20_000))
def test_garbage_gets_no_page_and_does_no_harm(server: MetricsServer, garbage: bytes) -> None:
    assert PAGE not in sent(server, garbage)


def test_an_endless_head_is_cut_off(server: MetricsServer) -> None:
    assert PAGE not in sent(server, b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 100_000)
    assert page(server) == PAGE


def test_slow_clients_and_a_thousand_connections(server: MetricsServer) -> None:
    with contextlib.ExitStack() as held:
        clients = [held.enter_context(connection(server)) for _ in range(800)]
        for client in clients:
            with contextlib.suppress(OSError):  # beyond the limit it was answered and closed
                client.send(b"GET /met")
        last = select.poll()
        last.register(clients[-1], select.POLLIN)
        assert last.poll(1000 * PATIENCE_S), "the last is beyond the limit and gets an answer"
        assert any(not _is_answered(client) for client in clients)
    assert until_served(server) == PAGE


def _is_answered(client: socket.socket) -> bool:
    """Whether it is answered soon: refused at once, or left to finish its request."""
    client.settimeout(0.01)
    try:
        return bool(client.recv(64))
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def until_served(server: MetricsServer) -> bytes:
    """The page, once the connections that were left have been noticed."""
    while True:
        with contextlib.suppress(urllib.error.HTTPError):
            return page(server)


@contextlib.contextmanager
def asking(server: MetricsServer, answers: list[bytes]) -> Iterator[None]:
    """A client whose request waits for the page."""
    request = b"GET /metrics HTTP/1.1\r\n\r\n"
    client = threading.Thread(target=lambda: answers.append(sent(server, request)))
    client.start()
    assert server.asked.wait(PATIENCE_S)
    yield
    client.join()


@pytest.mark.parametrize("size", [len(PAGE), 8 << 20])
def test_who_waits_at_the_end_gets_the_whole_last_page(size: int) -> None:
    answers: list[bytes] = []
    server = MetricsServer(("127.0.0.1", 0))
    with contextlib.ExitStack() as clients, server:
        clients.enter_context(asking(server, answers))
        server.end(lambda: PAGE.rjust(size))
    assert answers[0].endswith(PAGE)
    assert len(answers[0]) > size
    with pytest.raises(ConnectionRefusedError):
        connection(server)


def test_a_place_that_is_taken_is_an_error(server: MetricsServer) -> None:
    port = int(urlsplit(server.url).port or 0)
    with (
        pytest.raises(UsageError, match=r"cannot listen on 127[^(']*$"),
        MetricsServer(("127.0.0.1", port)),
    ):
        pass
    with (
        pytest.raises(UsageError, match="cannot listen on no"),
        MetricsServer(("no.such.host.invalid", 1)),
    ):
        pass


def test_the_server_listens_on_the_loopback_unless_told_otherwise() -> None:
    assert _listen_address(":9000") == _listen_address("9000") == ("127.0.0.1", 9000)
    assert _listen_address("0.0.0.0:80") == ("0.0.0.0", 80)
    assert _listen_address("[::1]:80") == ("::1", 80)


@pytest.mark.parametrize("text", ["host", "host:", "host:http", ":-1", ":٣", ":70000"])
def test_a_bad_address_is_refused(text: str) -> None:
    with pytest.raises(Exception, match=r"is not ADDR:PORT|ports go up to 65535"):
        _listen_address(text)

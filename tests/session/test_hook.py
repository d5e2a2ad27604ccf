"""A command or a URL gets the changes of a verdict, and never holds anything up."""

import email
import json
import os
import sys
import time
from collections.abc import Iterator
from email import policy
from pathlib import Path

import pytest

from rltui.config import HooksConfig
from rltui.core.clock import SystemClock
from rltui.session.hook import Hook, Message, Outbox, last_result, request_of
from tests.clock import ManualClock
from tests.servers import Inbox, receiving
from tests.tables import cases

MESSAGE = Message("one", '{"text": "✖ run: nan fired"}', "✖ run: nan fired")


@pytest.fixture
def inbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with receiving() as server:
        yield server


def a_message(about: str, text: str = "") -> Message:
    return Message(about, json.dumps({"text": text}), text)


def deliver(settings: HooksConfig, message: Message) -> str | None:
    (delivery,) = Hook(settings, SystemClock(), pytest.fail).deliveries
    return delivery.deliver(message)


# -- what waits ----------------------------------------------------------------------------


def test_a_newer_state_replaces_one_that_waits() -> None:
    outbox = Outbox(10)
    for about, text in (("a", "fired"), ("b", "fired"), ("a", "over")):
        outbox.put(a_message(about, text))
    assert [outbox.pop(0.0).text for _ in range(2)] == ["fired", "over"]
    assert outbox.wait(0.0) is None


def test_no_more_than_the_rate() -> None:
    outbox = Outbox(2)
    for i in range(4):
        outbox.put(a_message(str(i)))
    for _ in range(2):
        assert outbox.wait(100.0) == 0.0
        outbox.pop(100.0)
    assert outbox.wait(130.0) == 30.0
    assert outbox.wait(161.0) == 0.0


def test_what_waits_is_bounded() -> None:
    outbox = Outbox(600)
    for i in range(500):
        outbox.put(a_message(str(i), str(i)))
    assert outbox.pop(0.0).text == "300"


# -- delivery ------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_would_lose_the_message(inbox: Inbox, code: int) -> None:
    inbox.answer, inbox.location = code, f"{inbox.url}/elsewhere"
    said = deliver(HooksConfig(on_finding=(inbox.url,)), MESSAGE)
    assert said == f"127.0.0.1 answered {code}, a redirect: give the address that it leads to"
    assert inbox.gets == 0
    for url in ("http://127.0.0.1:1/secret", "http://[secret", "http://127.0.0.1:99999/secret"):
        error = deliver(HooksConfig(on_finding=(url,), timeout_s=2.0), MESSAGE)
        assert error
        assert "/secret" not in error


@cases(__file__, "commands_that_fail")
def test_what_goes_wrong_in_a_command(command: list[str], error: str) -> None:
    said = deliver(HooksConfig(on_finding=tuple(command), timeout_s=0.5), MESSAGE)
    assert error in str(said)


# -- the thread ----------------------------------------------------------------------------


def test_posting_does_not_wait_and_closing_delivers(inbox: Inbox) -> None:
    hook = Hook(HooksConfig(on_finding=(inbox.url,)), SystemClock(), pytest.fail)
    for i in range(5):
        hook.post(a_message(str(i), str(i)))
    hook.close(10.0)
    assert [json.loads(body)["text"] for _, body in inbox.bodies] == list("01234")


def test_trouble_is_reported_once_until_it_works_again(inbox: Inbox) -> None:
    said: list[str] = []
    hook = Hook(HooksConfig(on_finding=(inbox.url,)), SystemClock(), said.append)
    inbox.answer = 503
    for i in range(3):
        hook.post(a_message(str(i)))
    hook.close(10.0)
    assert said == ["hooks: 127.0.0.1 answered 503", "hooks: 3 not delivered"]


def test_a_child_that_lives_on_holds_nobody_up(tmp_path: Path) -> None:
    """It keeps standard error open after the command has ended."""
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    code = (
        "import subprocess, sys\n"
        f"subprocess.Popen(['cat', {str(ready)!r}], start_new_session=True)\n"
    )
    settings = HooksConfig(on_finding=(sys.executable, "-c", code), timeout_s=20.0)
    begun = time.monotonic()
    assert deliver(settings, MESSAGE) is None
    assert time.monotonic() - begun < 15.0
    with ready.open("w"):  # ends the child
        pass


def test_leaving_ends_a_command_that_runs(tmp_path: Path) -> None:
    said: list[str] = []
    alive = tmp_path / "alive"
    code = f"open({str(alive)!r}, 'w').close(); import time; time.sleep(60)"
    settings = HooksConfig(on_finding=(sys.executable, "-c", code), timeout_s=50.0)
    hook = Hook(settings, SystemClock(), said.append)
    hook.post(a_message("a"))
    while not alive.exists():
        pass
    hook.post(a_message("b"))
    begun = time.monotonic()
    hook.close(0.1)
    assert "hooks: 2 not delivered" in said
    hook.deliveries[0]._thread.join(20.0)
    assert time.monotonic() - begun < 20.0


def test_one_message_that_cannot_be_delivered_ends_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    target = tmp_path / "got"
    code = f"import sys; open({str(target)!r}, 'a').write(sys.stdin.read())"
    settings = HooksConfig(on_finding=(sys.executable, "-c", code), format="text")
    hook = Hook(settings, SystemClock(), said.append)
    for about in ("\ud800 odd", "b"):
        hook.post(a_message(about, about))
    hook.close(20.0)
    assert target.read_text().splitlines() == ["\\ud800 odd", "b"]
    assert said == []


# -- failures ------------------------------------------------------------------------------


@cases(__file__, "services")
def test_each_service_gets_the_form_that_it_takes(
    url: str, address: str, kind: str, body: object
) -> None:
    found = request_of(url, Message("one", '{"text": "a", "rule": "nan"}', "a"), "json")
    assert (found[0], found[2].partition(";")[0]) == (address, kind)
    assert (json.loads(found[1]) if isinstance(body, dict) else found[1]) == body


def test_a_message_is_tried_again_and_none_overtakes_it(inbox: Inbox, tmp_path: Path) -> None:
    """The server fails three times; what it has been sent then is in its order."""
    said: list[str] = []
    inbox.answers = [500, 429, 503]
    settings = HooksConfig(targets=((inbox.url,),))
    hook = Hook(settings, ManualClock(), said.append, tmp_path, pauses=(0.0, 0.0, 0.0))
    for about in "abc":
        hook.post(a_message(about, about))
    while len(inbox.bodies) < 6:
        pass
    hook.close(10.0)
    assert [json.loads(body)["text"] for _, body in inbox.bodies] == list("aaaabc")
    assert said == ["hooks: 127.0.0.1 answered 500"]
    result = last_result(tmp_path, (inbox.url,))
    assert result == {"at": ManualClock().now(), "error": None}


def test_what_a_server_refuses_is_not_tried_again(inbox: Inbox, tmp_path: Path) -> None:
    said: list[str] = []
    inbox.answers = [404]
    hook = Hook(HooksConfig(targets=((inbox.url,),)), ManualClock(), said.append, tmp_path)
    for about in "ab":
        hook.post(a_message(about, about))
    hook.close(10.0)
    assert [json.loads(body)["text"] for _, body in inbox.bodies] == ["a", "b"]
    assert said == ["hooks: 127.0.0.1 answered 404", "hooks: 1 not delivered"]


def test_one_target_does_not_wait_for_another(inbox: Inbox) -> None:
    """The first is refused, again and again."""
    said: list[str] = []
    settings = HooksConfig(targets=(("http://127.0.0.1:1/secret",), (inbox.url,)))
    hook = Hook(settings, SystemClock(), said.append)
    hook.post(a_message("a", "a"))
    while not inbox.bodies:
        pass
    hook.close(10.0)
    assert said == ["hooks: 127.0.0.1: Connection refused", "hooks: 1 not delivered"]


def test_mail_goes_through_sendmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "sendmail"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/given\ncat > {tmp_path}/mail\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert deliver(HooksConfig(targets=(("mailto:me@example.org",),)), MESSAGE) is None
    mail = email.message_from_bytes((tmp_path / "mail").read_bytes(), policy=policy.default)
    assert (mail["To"], mail["Subject"]) == ("me@example.org", MESSAGE.text)
    assert mail.get_content() == MESSAGE.text + "\n"
    assert (tmp_path / "given").read_text() == "-i -t\n"

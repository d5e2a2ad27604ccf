"""Errors of libraries: their kind, and nothing secret in their text."""

from __future__ import annotations

import errno

import pytest

from rltui.files.remote.errors import RangeError, StoreError, ThrottledError, translated
from tests.tables import cases

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


class AnswerError(Exception):
    """As of aiohttp (``status``), gcsfs (``code``), requests and botocore (``response``)."""

    def __init__(self, text: str, **fields: object) -> None:
        super().__init__(text)
        for name, value in fields.items():
            setattr(self, name, value)


class NoCredentialsError(Exception):
    """As of botocore."""


@cases(__file__, "nothing_secret_is_shown", "text")
def test_nothing_secret_is_shown(text: str) -> None:
    shown = str(translated(ValueError(text.replace("SECRET", SECRET))))
    for piece in ("wJalr", "K7MDENG", "bPxRfi", "AKIA", "hf_", "ya29"):
        assert piece not in shown


def test_the_message_of_a_store_cannot_control_the_terminal() -> None:
    found = translated(ValueError("a\x1b[31mb\nc\u202e"))
    assert not any(c in found.strerror for c in "\x1b\n\u202e")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FileNotFoundError("x"), FileNotFoundError),
        (AnswerError("x", status=404), FileNotFoundError),
        (PermissionError("Forbidden"), PermissionError),
        (AnswerError("x", code=403), PermissionError),
        (AnswerError("x", status=429), ThrottledError),
        (AnswerError("x", response={"ResponseMetadata": {"HTTPStatusCode": 503}}), ThrottledError),
        (OSError(errno.EIO, "SlowDown"), ThrottledError),
        (AnswerError("x", status=416), RangeError),
        (NoCredentialsError("Unable to locate credentials"), StoreError),
        (ConnectionRefusedError("x"), StoreError),
        (TimeoutError(), StoreError),
        (EOFError(), StoreError),
        (RuntimeError("x"), StoreError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else type(value).__name__,
)
def test_kinds(error: Exception, kind: type[OSError]) -> None:
    found = translated(error)
    assert type(found) is kind
    assert found.strerror


def test_the_cause_counts_too() -> None:
    error = ValueError("failed")
    error.__cause__ = AnswerError("x", status=503)
    assert type(translated(error)) is ThrottledError


def test_a_refused_connection_is_said_in_the_words_of_the_system() -> None:
    error = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 80)")
    assert translated(error).strerror == "connection refused"

"""What is masked in settings, in the environment and in free texts, and what is not."""

from __future__ import annotations

import random
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.secrets import MASK, masked, without_secrets
from tests.tables import cases, table

SECRET_NAMES = table(__file__)["secret_names"]
ORDINARY_NAMES = table(__file__)["ordinary_names"]
#: A value that is neither a number nor a form of its own.
PASSWORDS = st.text(string.ascii_letters, min_size=6, max_size=20).filter(
    lambda text: text.lower() not in ("bearer", "digest", "infinity")
)
ORDINARY_VALUES = st.one_of(
    st.floats().map(str),
    st.integers(-(10**6), 10**6).map(str),
    st.lists(st.sampled_from(["token", "mean", "Qwen2.5", "7B", "grpo", "gsm8k"])).map("-".join),
    st.sampled_from(["<|endoftext|>", "[PAD]", "['</s>', '<s>']", "True", "None", "/mnt/a/b.py"]),
)


@pytest.mark.parametrize("name", SECRET_NAMES)
@settings(max_examples=30)
@given(value=PASSWORDS)
def test_a_secret_is_masked_by_the_words_of_its_name(name: str, value: str) -> None:
    assert masked(name, value) == MASK
    for text, shown in (
        ("'lr': 1, '{}': '{}', 'seed': 2", "'lr': 1, '{}': '{}', 'seed': 2"),
        ("lr=1 {}={} seed=2", "lr=1 {}={} seed=2"),
        ("--lr 1 --{} {} --seed 2", "--lr 1 --{} {} --seed 2"),
        ('{{"{}": "{}"}}', '{{"{}": "{}"}}'),
        ("{}: ['{}', 'seed']", "{}: {}"),
    ):
        assert without_secrets(text.format(name, value)) == shown.format(name, MASK)


@pytest.mark.parametrize("name", ORDINARY_NAMES)
@settings(max_examples=30)
@given(value=ORDINARY_VALUES)
def test_a_setting_that_only_sounds_like_a_secret_stands(name: str, value: str) -> None:
    assert masked(name, value) == value
    for text in (f"{name}={value}", f"{{'{name}': {value}}}", f"--{name} {value}"):
        assert without_secrets(text) == text


@cases(__file__, "an_ordinary_value_stands")
def test_an_ordinary_value_stands(name: str, value: str) -> None:
    assert masked(name, value) == value


HIDDEN = "aB3dE5gH7jK9mN1pQ3"


@cases(__file__, "what_has_the_form_of_a_secret_is_taken_out_under_any_name", "form")
def test_what_has_the_form_of_a_secret_is_taken_out_under_any_name(form: str) -> None:
    value = form.format(HIDDEN, HIDDEN)
    for text in (masked("notes", f"see {value} there"), without_secrets(f"see {value} there")):
        assert HIDDEN not in text
        assert "EXAMPLE" not in text
        assert text.startswith("see ")
        assert text.endswith(" there")


HEX = "0123456789abcdef0123456789abcdef01234567"


@cases(__file__, "the_whole_of_a_secret_is_taken_out_and_no_more")
def test_the_whole_of_a_secret_is_taken_out_and_no_more(text: str, shown: str) -> None:
    text = text.replace("HEX", HEX).replace("HIDDEN", HIDDEN)
    assert without_secrets(text) == shown


def test_random_keys_are_known_from_names() -> None:
    chosen = random.Random(0)
    characters = string.ascii_letters + string.digits + "+/"
    keys = ["".join(chosen.choices(characters, k=40)) for _ in range(1000)]
    shown = sum(masked("MY_STORE", key) == key for key in keys)
    assert shown <= 10  # some happen to have no digit


def test_a_free_text_keeps_the_rest() -> None:
    said = without_secrets("GET https://me:pw@host.example/a?sig=abc failed: api_key=xyz1, retry")
    assert said == "GET https://host.example/a failed: api_key=***, retry"
    assert masked("header", "Bearer abc.def") == f"Bearer {MASK}"


@given(st.text(max_size=300))
def test_what_is_masked_once_stays_so(text: str) -> None:
    once = without_secrets(text)
    assert re.sub(r"\*+", "", without_secrets(once)) in once.replace("*", "")


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "a://" * 80_000, "--token" * 50_000, "token=[" * 50_000, "a:" * 80_000]
)
def test_of_a_long_value_only_the_beginning_is_searched(text: str) -> None:
    assert len(masked("prompt", text)) <= 2048  # took minutes: patterns can be quadratic


def test_of_a_long_name_only_the_end_is_searched() -> None:
    assert masked(" value" * 200_000 + " token", "hunter2") == MASK  # took minutes

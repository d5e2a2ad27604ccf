"""What is masked in settings, in the environment and in free texts, and what is not."""

from __future__ import annotations

import pytest

from rltui.core.secrets import MASK, masked, without_secrets


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WANDB_API_KEY", "0123456789abcdef0123456789abcdef01234567"),
        ("HF_TOKEN", "hf_abcdefghijkl"),
        ("hub_token", "plainword"),
        ("aws_secret_access_key", "abcd/efgh"),
        ("trainer.logger.password", "correct horse"),
        ("slack.webhook_url", "https://hooks.example/T000/B000/x"),
        ("api_token", "1234567890"),
    ],
)
def test_a_secret_is_masked_by_its_name(name: str, value: str) -> None:
    assert masked(name, value) == MASK


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", "4096"),
        ("tokenizer.eos_token", "<|endoftext|>"),
        ("pad_token", "[PAD]"),
        ("reward_fn_key", "data_source"),
        ("data.image_key", "images"),
        ("use_auth_token", "False"),
        ("seed", "1234567890123"),
        ("actor.optim.lr", "1e-6"),
        ("use_auth", "None"),
    ],
)
def test_a_setting_that_only_sounds_like_a_secret_stands(name: str, value: str) -> None:
    assert masked(name, value) == value


def test_what_has_the_form_of_a_secret_is_taken_out_under_any_name() -> None:
    assert masked("notes", "pushed with hf_abcdefghijkl to the hub") == "pushed with ... to the hub"
    assert masked("proxy", "https://me:word@proxy.example/x") == "https://proxy.example/x"
    assert masked("header", "Bearer abc.def") == "Bearer ..."


def test_a_free_text_loses_its_secrets() -> None:
    said = without_secrets("GET https://me:pw@host.example/a?sig=abc failed: api_key=xyz, retry")
    assert said == "GET https://host.example/a failed: api_key=..., retry"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("{'WANDB_API_KEY': 'abcdef12', 'lr': 1}", "{'WANDB_API_KEY': '***', 'lr': 1}"),
        ("['--lr', '1', '--hub-token', 'abcdef']", "['--lr', '1', '--hub-token', '***']"),
        ("train.py --api_key abcdef --bf16", "train.py --api_key *** --bf16"),
        ("hub_token=abc123 python train.py", "hub_token=*** python train.py"),
        ("{'eos_token': '</s>', 'token': None}", "{'eos_token': '</s>', 'token': None}"),
        ("Think before each token that you write", "Think before each token that you write"),
        ("{'max_tokens': 4096}", "{'max_tokens': 4096}"),
    ],
)
def test_a_secret_within_a_value_is_masked_by_its_name(value: str, shown: str) -> None:
    assert masked("args", value) == shown


@pytest.mark.parametrize("text", ["a" * 300_000, "a://" * 80_000, "--token" * 50_000])
def test_of_a_long_value_only_the_beginning_is_searched(text: str) -> None:
    assert masked("prompt", text) == text[:2048]  # took minutes: patterns can be quadratic

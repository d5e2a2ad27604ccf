"""The argument tree: hints, options of every command, help."""

import shlex
from collections.abc import Sequence

import pytest

from rltui.cli.program import build_parser, needed_verbs, parse, spelled_out
from rltui.commands.verbs import EXIT_CODES, NAMES, VERBS, Exit, Verb
from tests.commands.conftest import Cli
from tests.tables import cases


@cases(__file__, "a_mistake_is_named_with_what_was_meant")
def test_a_mistake_is_named_with_what_was_meant(cli: Cli, line: str, said: str) -> None:
    result = cli(*line.split())
    assert (result.code, result.out) == (2, "")
    assert said in result.err


@pytest.mark.parametrize(
    "line", ["check . --js", "check . --fail bad", "--vers", "export . --ou x"]
)
def test_options_are_not_abbreviated(cli: Cli, line: str) -> None:
    assert cli(*line.split()).code == 2


@cases(__file__, "the_parser_of_one_command_says_what_that_of_all_says", "line")
def test_the_parser_of_one_command_says_what_that_of_all_says(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = spelled_out(line.split(), (*NAMES, "help"))

    def said(commands: Sequence[Verb]) -> tuple[object, ...]:
        try:
            options = parse(build_parser(commands), words)
        except SystemExit as left:
            return left.code, *capsys.readouterr()
        return options.command, options.color, options.debug

    assert said(needed_verbs(words)) == said(VERBS)


def test_options_of_every_command_stand_before_it_or_after_it() -> None:
    parser = build_parser()
    for command in VERBS:
        words = shlex.split(command.example)[1:]
        for line in (["--color", "never", "--debug", *words], [*words, "--color=never", "--debug"]):
            found = parse(parser, line)
            assert (found.command, found.color, found.debug) == (command.name, "never", True)
        found = parse(parser, words)
        assert (found.color, found.debug) == ("auto", False)


def test_watch_is_meant_also_after_options_of_every_command() -> None:
    parser = build_parser()
    for line in (["--debug"], ["--color", "never"], ["--color=never", "--debug", "./runs"]):
        assert parse(parser, line).command == "watch"


def test_help_of_a_command(cli: Cli) -> None:
    for name in build_parser().commands:
        assert cli("help", name) == cli(name, "--help")
    assert cli("help") == cli("--help")
    assert cli("help").code == 0


def test_help_lists_the_exit_codes(cli: Cli) -> None:
    out = cli("--help").out
    assert {code for code, _ in EXIT_CODES} == set(Exit)
    assert all(f"  {code.value:<4} {words}\n" in out for code, words in EXIT_CODES)


def test_help_fits_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("", *build_parser().commands):
        shown, _, example = cli(*name.split(), "--help").out.partition("\nexample:")
        assert max(map(len, shown.splitlines())) <= 80
        assert bool(example) is bool(name)


@cases(__file__, "values_out_of_range_are_wrong_usage", "words")
def test_values_out_of_range_are_wrong_usage(cli: Cli, words: str) -> None:
    result = cli(*words.split())
    assert (result.code, result.out) == (2, "")
    assert words.rsplit(maxsplit=1)[-1].lstrip("-").partition("=")[0] in result.err

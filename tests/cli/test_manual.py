"""The manual page."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from rltui.cli.manual import manual_page
from rltui.commands.verbs import EXIT_CODES, HELP_VERB, MAIN, VERBS


def test_the_page_names_everything() -> None:
    page = manual_page().replace("\\-", "-").replace("\\e", "\\")
    for command in (*VERBS, HELP_VERB):
        _, found, section = page.partition(f".SS rltui {command.name}\n")
        section = section.partition("\n.SS")[0]
        assert found
        common = {o.names for o in MAIN}
        for option in command.options:
            assert (option.help in section) is (option.names not in common), option
    assert all(n in page for o in MAIN for n in o.names)
    assert all(f"\\fB{code.value}\\fR\n{words}" in page for code, words in EXIT_CODES)


@pytest.mark.parametrize("command", [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-ww"]])
def test_readers_of_manual_pages_find_no_mistake(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    if command[0] == "groff":
        command = [*command, "-man", "-Tutf8", "-Wmac"]
    done = subprocess.run(
        command, input=manual_page(), capture_output=True, text=True, timeout=60, check=False
    )
    found = done.stderr if command[0] == "groff" else done.stdout
    assert [x for x in found.splitlines() if "missing date" not in x] == []

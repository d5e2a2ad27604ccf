"""The manual page, rltui(1), in roff: built into the wheel from what the commands take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rltui.commands.verbs import DESCRIPTION, EXIT_CODES, HELP_VERB, MAIN, VERBS, Option, Verb
from rltui.version import __version__

_ENVIRONMENT = (
    ("RLTUI_CONFIG", "configuration file, without --config"),
    ("RLTUI_SECTION_KEY", "a value of the configuration, such as RLTUI_VIEW_THEME=light"),
    ("NO_COLOR", "when set and not empty: write no colours"),
    ("FORCE_COLOR", "when set and not empty: write colours also into files and pipes"),
    ("FORCE_HYPERLINK", "1: write links also where no terminal is known to open them; 0: none"),
    ("XDG_CONFIG_HOME", "directory of rltui/config.yaml; ~/.config"),
    ("XDG_STATE_HOME", "directory of rltui/, where views, commands and debug logs are kept; "
     "~/.local/state"),
)  # fmt: skip


def manual_page() -> str:
    """The page; the same bytes for the same source."""
    lines = [
        f'.TH RLTUI 1 "" "rltui {__version__}" "User Commands"',
        ".SH NAME",
        "rltui \\- " + _text(DESCRIPTION.rstrip(".")),
        ".SH SYNOPSIS",
        ".B rltui\n[\\fIOPTION\\fR]... [\\fICOMMAND\\fR] [\\fIARGUMENT\\fR]...",
        ".SH DESCRIPTION",
        _text("Reads the log files of trainings, writes nothing into their directories. "
              "`rltui LOGDIR` is short for `rltui watch LOGDIR`."),
        ".SH OPTIONS",
        *_options(MAIN),
        ".SH COMMANDS",
        *(line for verb in (*VERBS, HELP_VERB) for line in _command(verb)),
        ".SH EXIT STATUS",
        *_table((str(code.value), words) for code, words in EXIT_CODES),
        ".SH ENVIRONMENT",
        *_table(_ENVIRONMENT),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _command(verb: Verb) -> list[str]:
    """A section; options of every command stand before the commands."""
    own = [o for o in verb.own if o.names]
    words = "".join(f" {_operand(o)}" for o in verb.operands)
    options = " [\\fIOPTION\\fR]..." if own else ""

    return [
        f".SS rltui {_text(verb.name)}",
        f"\\fBrltui {_text(verb.name)}\\fR{options}{words}",
        ".PP",
        _text(f"{verb.summary[0].upper()}{verb.summary[1:]}."),
        *_options((*verb.operands, *own)),
        ".PP",
        f"Example: \\fB{_text(verb.example)}\\fR",
    ]


def _options(options: Sequence[Option]) -> list[str]:
    return _table((_names(o), o.help) for o in options)


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f".TP\n\\fB{_text(name)}\\fR\n{_text(words)}" for name, words in rows]


def _names(option: Option) -> str:
    value = "|".join(option.choices) or option.value
    if not option.names:
        return option.value
    return ", ".join(option.names) + (f" {value}" if option.value else "")


def _operand(option: Option) -> str:
    word = f"\\fI{_text(option.value)}\\fR" + "..." * option.many
    return f"[{word}]" if option.optional else word


def _text(text: str) -> str:
    """``text`` as roff shows it: no escape, no request at the start of a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)

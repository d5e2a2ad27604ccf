"""A strict parser of what a program writes to a terminal: text, and sequences of a whitelist.

The whitelist holds what Textual and Rich need and nothing else, so that a sequence that came from
a log is found even where it would do no harm.
"""

import base64
import re
import unicodedata
from collections.abc import Callable, Iterator

#: Modes that Textual switches: cursor, mouse, focus, alternate screen, paste, synchronized output,
#: resize reports, line wrap.
_MODES = frozenset({7, 25, 1000, 1003, 1004, 1006, 1015, 1016, 1049, 2004, 2026, 2048})
#: Modes whose state it asks for.
_ASKED = frozenset({2026, 2048})
#: Bold, dim, italic, underline, reverse, and their ends; colours come with parameters.
_STYLES = frozenset({0, 1, 2, 3, 4, 7, 22, 23, 24, 27, 39, 49})
_COLOURS = frozenset({*range(30, 38), *range(40, 48), *range(90, 98), *range(100, 108)})
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: The bell rings for a notification, and for nothing else.
_BELL = re.compile(rb"\x07(?=\x1b\]9;rltui: )")
_NOTIFICATION = re.compile(r"9;rltui: ([^;\r\n]*)|777;notify;rltui;([^;\r\n]*)")
_SEQUENCE = re.compile(
    r"\x1b(?:\[(?P<arguments>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|(?P<string>[\]PX^_])(?P<content>.*?)(?:\x07|\x1b\\)|.?)",
    re.DOTALL,
)


def faults(data: bytes, *, size: tuple[int, int] = (160, 45)) -> list[str]:
    """What in the output of an app is not on the whitelist; ``size`` in columns and lines."""
    return list(_faults(_BELL.sub(b"", data), lambda found: _is_known(found, size)))


def line_faults(data: bytes, *, coloured: bool = False) -> list[str]:
    """What in the output of a verb that only prints is more than lines of text, or more than
    ``coloured`` lines."""
    return list(_faults(data, lambda found: coloured and _is_style(found.group())))


def _faults(data: bytes, known: Callable[[re.Match[str]], bool]) -> Iterator[str]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"no UTF-8: {data[max(0, error.start - 40) : error.end + 40]!r}"
        text = data.decode("utf-8", "replace")
    at = 0
    for found in _SEQUENCE.finditer(text):
        yield from _text_faults(text[at : found.start()])
        at = found.end()
        if not known(found):
            yield f"sequence {text[max(0, found.start() - 30) : at + 30]!r}"
    yield from _text_faults(text[at:])


def _text_faults(text: str) -> Iterator[str]:
    for at, char in enumerate(text):
        if char not in "\r\n" and unicodedata.category(char) in _UNSAFE:
            yield f"character {char!r} in {text[max(0, at - 30) : at + 30]!r}"


def _is_known(found: re.Match[str], size: tuple[int, int]) -> bool:
    if found["string"]:
        return found["string"] == "]" and _is_command(found["content"])
    if found["final"] is None:
        return False
    sequence = found["arguments"] + found["between"] + found["final"]
    columns, lines = size
    for pattern, fits in (
        (r"\?(\d+)[hl]", lambda mode: mode in _MODES),
        (r"\?(\d+)\$p", lambda mode: mode in _ASKED),
        (r"(?:<|>\d+)u", lambda: True),  # the keyboard protocol of kitty
        (r"(\d+);(\d+)H", lambda line, column: line <= lines and column <= columns),
        (r"H|\d*[ABCDGJKX]", lambda: True),  # relative moves and erasing
    ):
        shape = re.fullmatch(pattern, sequence)
        if shape is not None:
            return fits(*map(int, shape.groups()))
    return _is_style(found.group())


def _is_style(sequence: str) -> bool:
    shape = re.fullmatch(r"\x1b\[([0-9;]*)m", sequence)
    if shape is None:
        return False
    rest = [int(n or 0) for n in shape[1].split(";")]
    while rest:
        first = rest.pop(0)
        if first in (38, 48) and rest[:1] == [2] and len(rest) >= 4:
            del rest[:4]
        elif first in (38, 48) and rest[:1] == [5] and len(rest) >= 2:
            del rest[:2]
        elif first not in _STYLES | _COLOURS:
            return False
    return True


def _is_command(content: str) -> bool:
    """Whether an operating system command sets the clipboard to lines of text, or the shape of
    the mouse pointer, or notifies of a text."""
    notification = _NOTIFICATION.fullmatch(content)
    if notification is not None:
        return not list(_text_faults(notification[1] or notification[2] or ""))
    if re.fullmatch(r"22;[a-z-]+", content):
        return True
    begin = "52;c;"
    if not content.startswith(begin):
        return False
    try:
        text = base64.b64decode(content[len(begin) :], validate=True).decode("utf-8")
    except ValueError:
        return False
    return not list(_text_faults(text.replace("\t", " ")))  # between columns

"""Takes out of texts and settings what looks like a secret, before they are shown to others.

A secret is known by the words of the name that it is given to (``hubToken``, ``PGPASSWORD``,
``--api-key``), or by its own form, under any name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, NamedTuple

from rltui.core.later import regex
from rltui.core.yaml_record import Keyed, shipped_record

#: What stands in place of a secret.
MASK = "***"
#: Characters of a text that is searched, and of the end of a name.
_MOST_SEARCHED = 2048
_MOST_OF_NAME = 256

# -- by name ---------------------------------------------------------------------------------

#: The words of a name: ``hubToken``, ``HUB_TOKEN`` and ``hub-token`` have the same two; pass@8 is
#: no pass.
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|@")


_Set = Annotated[frozenset[str], Keyed(read=lambda node: frozenset(node.text().split()))]

_Forms = Annotated[
    tuple[tuple[re.Pattern[str], str], ...],
    Keyed(read=lambda node: tuple((regex(k), v.text()) for k, v in node.table().pairs())),
]


class _Words(NamedTuple):
    """The content of the document, which says what each part is for."""

    tail: re.Pattern[str]
    last: Mapping[str, _Set]
    always: _Set
    anywhere: _Set
    about: _Set
    services: _Set
    key_to: _Set
    public_keys: _Set
    pairs: tuple[str, ...]
    glued: re.Pattern[str]
    forms: _Forms
    tokens: _Forms

    def is_pair(self, before: str, last: str) -> bool:
        """Whether two words at the end of a name say that it is of a secret."""
        opens = last == "key" and before in self.key_to | self.services
        named = before in ("key", "token") and last in self.services
        return opens or named or f"{before} {last}" in self.pairs


def _known() -> _Words:
    """Read once, when something is first searched."""
    return shipped_record(_Words, "core", "data", "secrets.yaml")


#: A name, with the word before it, and what stands between it and its value: of an assignment, a
#: dictionary or an option.
_GIVEN = regex(
    r"(?<![\w.-])(?P<option>--?(?=\w))?(?P<name>(?:(?(option)(?!)|[A-Za-z]{1,20} ))?[\w.-]+)"
    r"\\?['\"]?"
    r"(?:\s{0,3}[=:](?P<space>\s{0,3})|(?(option)[\s,]{1,3}|(?!)))(?P<quote>\\?['\"])?"
)
_SCHEMES = r"(?:(?:Bearer|Basic|Token|Digest)\s+)?"
_BARE = r"(?:[^\s,;&'\"}\])]|(?<=\w)'(?=\w))+"
#: By the quote before them; in one that is escaped, what is escaped has two more backslashes.
_VALUES = {
    None: regex(_SCHEMES + rf"(?:\[[^\]\n]*\]|\([^)\n]*\)|\{{[^}}\n]*\}}|{_BARE})", re.IGNORECASE),
    "'": regex(r"(?:\\.|[^'\\\n])+"),
    '"': regex(r'(?:\\.|[^"\\\n])+'),
    "\\'": regex(r"(?:\\{2,}.|(?!\\?').)+"),
    '\\"': regex(r'(?:\\{2,}.|(?!\\?").)+'),
}
#: Further words of a passphrase, up to the next name or option.
_PHRASE = regex(r"pass(?:word|wd|phrase)s?$", re.IGNORECASE)
_FURTHER = regex(rf"(?: (?!-|[\w.-]+ ?[=:]){_BARE})*")
#: A truth value, a token of a vocabulary, a variable that holds the secret, a masked secret.
_STANDS_FOR = regex(
    r"(?i:none|null|empty|true|false|[-+]?inf(?:inity)?)|<.*>|\|.*\||\[[A-Z_\d]{1,12}\]|\$\{?\w+\}?|\*+",
    re.DOTALL,
)
#: A number with or without a unit, or one of several: "1.5e-6", "12ms", "3.1k tok/s", "3/8".
_QUANTITY = regex(
    r"[-+]?[\d.,_]+(?:e[-+]?\d+)?(?: ?(?:[mun]?s|min|h|[kMGBT]i?B?|%|x|it|tok\w{0,3}))?"
    r"(?:/\w{1,5})?",
    re.IGNORECASE,
)

# -- by form ---------------------------------------------------------------------------------

_ADDRESS = regex(r"\b([a-z][\w+.-]{0,30}://)([^\s'\"<>]+)", re.IGNORECASE)
#: A login before a host; a port is no password.
_LOGIN = regex(r"[^/?#]*@|[^/:@]*:(?!\d{1,5}(?:/|$)).*@")
_HOOK = regex(r"(?<![a-z\d])(?:web)?hooks?(?![a-z\d])", re.IGNORECASE)
#: Of what is random; words of a long name have more letters each.
_RANDOM = regex(r"(?<![\w+/-])[A-Za-z0-9+/_-]{32,}={0,2}")
_LETTERS_OF_WORD = 3.5
_CHARACTERS_OF_PIECE = 8
#: Of what may be a key where something is called so.
_LONG = regex(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = regex(r"[A-Fa-f\d]{32,}")


def without_secrets(text: str) -> str:
    """The first 2,048 characters of a text, with :data:`MASK` for all that looks like a secret."""
    text = text[:_MOST_SEARCHED]
    text = _ADDRESS.sub(_public, text)
    for form, instead in _known().forms:
        text = form.sub(instead, text)

    # values that are given to names of secrets
    parts = []
    at = 0
    while given := _GIVEN.search(text, at):
        parts.append(text[at : given.end()])
        at = given.end()
        value = _VALUES[given["quote"]].match(text, at)
        if value is None:
            continue
        end = value.end()
        if given["space"] and not given["quote"] and _PHRASE.search(given["name"]):
            further = _FURTHER.match(text, end)
            end = further.end() if further else end
        if _is_secret(given["name"], text[at:end]):
            parts.append(MASK)
            at = end
    text = "".join([*parts, text[at:]])

    for form, instead in _known().tokens:
        text = form.sub(instead, text)
    return _RANDOM.sub(_without_key, text)


def masked(name: str, value: str) -> str:
    """The first 2,048 characters of the value of a setting or of a variable of the environment, or
    :data:`MASK` where its name is that of a secret; without the secrets that are in it."""
    return MASK if _is_secret(name, value[:_MOST_SEARCHED]) else without_secrets(value)


def _public(found: re.Match[str]) -> str:
    """An address without login, query, and the path of a webhook."""
    scheme, address = found.groups()
    login = _LOGIN.match(address)
    host, slash, path = address[login.end() if login else 0 :].partition("?")[0].partition("/")
    is_hook = path and _HOOK.search(f"{host}/{path}")
    return f"{scheme}{host}/{MASK}" if is_hook else f"{scheme}{host}{slash}{path}"


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is the secret that its name says it is."""
    found = _WORD.findall(name[-_MOST_OF_NAME:])
    known = _known()
    words = known.tail.sub("", " ".join(found).lower()).split()
    *_, before, last = ["", "", *words]
    ends = known.last.keys() | known.always
    one = last if last in ends else last.removesuffix("s")
    if one in ends:
        is_named = before not in known.last.get(one, ())
    else:
        is_named = known.is_pair(before, one) or known.glued.search(last) is not None
        is_named |= one == "key" and before not in known.public_keys and _is_key(value)
        any_where = {word.removesuffix("s") for word in words} & known.anywhere
        is_named |= one not in known.about and bool(any_where)
    is_directory = last == "pwd" and value.startswith("/")
    return is_named and not is_directory and not _is_plain(value, counts=last == "tokens")


def _is_plain(value: str, *, counts: bool) -> bool:
    """Whether it is short, a number, a truth value, or stands for something else:
    ``<|endoftext|>``; so is a list of such. Long whole numbers are secrets, but for ``counts``."""
    value = value.strip(" '\"")
    if len(value) < 4 or _STANDS_FOR.fullmatch(value):
        return True
    if value[0] in "[(" and value[-1] in "])":
        return all(_is_plain(part, counts=counts) for part in value[1:-1].split(","))
    return _QUANTITY.fullmatch(value) is not None and (
        counts or len(value) < 8 or not value.isdigit()
    )


def _is_key(value: str) -> bool:
    """Whether it looks like what opens something: long, and neither words nor a number."""
    value = value.strip(" '\"")
    is_long = _LONG.fullmatch(value) is not None and any(map(str.isdigit, value))
    return is_long and (_HEX.fullmatch(value.replace("-", "")) is not None or _is_wordless(value))


def _without_key(found: re.Match[str]) -> str:
    """A text that is masked if it is more like the base64 of a key than like words, or a path."""
    text = found[0]
    letters = "".join(_WORD.findall(text))
    is_mixed = letters.lower() != letters != letters.upper() and any(map(str.isdigit, letters))
    return MASK if is_mixed and _is_wordless(text) else text


def _is_wordless(text: str) -> bool:
    """Whether its letters and digits change too often for words, and it has few separators."""
    words = _WORD.findall(text)
    pieces = len(re.findall(r"[+/_-]", text))
    is_short = sum(map(len, words)) < _LETTERS_OF_WORD * len(words)
    return is_short and pieces * _CHARACTERS_OF_PIECE <= len(text)

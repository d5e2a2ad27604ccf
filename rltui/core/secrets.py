"""Takes out of texts and settings what looks like a secret, before they are shown to others."""

from __future__ import annotations

import re

#: Characters of a text that is searched: some patterns take quadratic time.
_MOST_SEARCHED = 2048
_PATTERNS = (
    (re.compile(r"(\w+://)[^\s/@]*@"), r"\1"),
    (re.compile(r"(\w+://[^\s?'\"<>]*)\?[^\s'\"<>]*"), r"\1"),
    (re.compile(r"\b(Bearer|Basic|Credential=)\s*[^\s,;]+", re.IGNORECASE), r"\1 ..."),
    (
        re.compile(
            r"((?:secret|token|passw(?:or)?d|signature|sig|key|credential|authorization|session)"
            r"[\w-]*['\"]?\s*[=:]\s*)['\"]?[^\s,;&'\"]+",
            re.IGNORECASE,
        ),
        r"\1...",
    ),
    (re.compile(r"\b(?:A[KS]IA|hf_|gh[pousr]_|ya29\.|sk-|eyJ)[\w.+/=-]{8,}"), "..."),
    (re.compile(r"(?=\S*[A-Z])(?=\S*[a-z])(?=\S*\d)[A-Za-z0-9+/_=-]{32,}"), "..."),
)
#: Values of these have a form of their own, whatever the name.
_BARE = _PATTERNS[0], _PATTERNS[2], _PATTERNS[4]
#: Last words of the name of a setting or a variable of the environment that holds a secret.
_SECRET = (
    r"(?:^|[\W_])(?:(?:api|access|private|secret|ssh|encryption)[\W_]?key(?:[\W_]id)?|apikey|secret"
    r"|passw(?:or)?d|passphrase|credentials?|authorization|auth|token|webhook(?:[\W_]url)?"
    r"|cookie|dsn)"
)
_SECRET_NAME = re.compile(f"{_SECRET}$", re.IGNORECASE)
#: Such a name with its value, within a value: of a dictionary, an assignment or an option.
_INNER = re.compile(
    rf"((?:-(?=[\w-])[\w-]{{0,40}}{_SECRET}['\"]?[\s,=]|{_SECRET}['\"]?\s*[=:])[\s'\"]*)([^\s,;&'\"}}]{{4,}})",
    re.IGNORECASE,
)
#: A token of a vocabulary, not of an account.
_VOCABULARY = re.compile(r"^[<\[|].*[>\]|]$", re.DOTALL)
#: What stands in place of a secret.
MASK = "***"


def without_secrets(text: str) -> str:
    """The first 2,048 characters of a free text, with "..." for all that looks like a secret:
    logins and queries of addresses, keys, tokens, signatures."""
    text = text[:_MOST_SEARCHED]
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def masked(name: str, value: str) -> str:
    """The first 2,048 characters of the value of a setting or of a variable of the environment, or
    :data:`MASK` where its name, or one within it, is that of a secret; what has the form of one is
    taken out under any name."""
    value = value[:_MOST_SEARCHED]
    if _SECRET_NAME.search(name) and len(value) >= 4 and not _is_plain(value):
        return MASK
    for pattern, instead in _BARE:
        value = pattern.sub(instead, value)
    return _INNER.sub(lambda m: m[0] if _is_plain(m[2]) else m[1] + MASK, value)


def _is_plain(value: str) -> bool:
    """Whether it is a number, a truth value, or a token of a vocabulary: ``<|endoftext|>``."""
    try:
        float(value)
    except ValueError:
        return value.lower() in ("none", "null", "true", "false") or bool(_VOCABULARY.match(value))
    return len(value) < 8

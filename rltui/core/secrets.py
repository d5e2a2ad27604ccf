"""Takes out of texts and settings what looks like a secret, before they are shown to others.

A secret is known by the words of the name that it is given to (``hubToken``, ``PGPASSWORD``,
``--api-key``), or by its own form, under any name.
"""

from __future__ import annotations

import re

#: What stands in place of a secret.
MASK = "***"
#: Characters of a text that is searched, and of the end of a name.
_MOST_SEARCHED, _MOST_OF_NAME = 2048, 256

# -- by name ---------------------------------------------------------------------------------

#: The words of a name: ``hubToken``, ``HUB_TOKEN`` and ``hub-token`` have the same two; pass@8 is
#: no pass.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|@")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words at the end of a name that say nothing of what it is.
_TAIL = re.compile(
    r"(?: (?:(?:v )?\d+|value|old|new|prod|dev|staging|backup|primary|secondary|base|hash|b64"
    r"|default)|(?<= key) id)+$"
)
#: Last words of the names of secrets, each with words before it that make it something else: a
#: token of a vocabulary or a text, a pass through a network, a pattern.
_LAST = {
    "token": _words(
        "eos bos pad unk mask sep cls image video audio vision think special added stop start end"
        " first last next prev new max min num n total avg mean std per each every prompt response"
        " output input valid generated completion context sequence seq batch train eval loss reward"
        " action answer question bad good all extra unexpected invalid unknown predicted sampled"
    ),
    "pass": _words(
        "forward backward single multi one two three first second third last per num n max min"
        " each full final test did"
    ),
    "pat": _words("file name path include exclude glob regex match search key tag"),
    "pwd": _words("old"),
    **dict.fromkeys(
        _words(
            "secret password passwd passphrase credential authorization auth webhook cookie dsn jwt"
            " sig signature apikey"
        ),
        _words(""),
    ),
}
#: Words that make a secret of a name wherever they stand in it, but for a last word of the others.
_ANYWHERE = _words("secret password passwd passphrase credential apikey")
_ABOUT = _words("name file path dir error")
#: What a key opens; others are keys of a dictionary, unless the value looks like that of a secret.
_SERVICES = _words("api hub hf wandb openai anthropic azure aws gcp comet neptune slack github")
_KEY_TO = _SERVICES | _words(
    "access secret private ssh encryption auth account signing master service storage rsa gpg"
    " subscription license deploy admin salt"
)
_PUBLIC_KEYS = _words("public cache hash")
_PAIRS = {
    *((to, "key") for to in _KEY_TO),
    *((what, of) for of in _SERVICES for what in ("key", "token")),
    ("aws", "session"),
    *(("webhook", "url"), ("hook", "url"), ("connection", "string"), ("session", "id")),
}
#: Names that are written as one word.
_GLUED = re.compile(
    r"(?:password|passwd|passphrase|secret|(?:api|access|secret|private)key"
    r"|(?:api|auth|access|bearer|refresh|hub|hf|gh)token)s?$"
)
#: A name, with the word before it, and what stands between it and its value: of an assignment, a
#: dictionary or an option.
_GIVEN = re.compile(
    r"(?<![\w.-])(?P<option>--?(?=\w))?(?P<name>(?:(?(option)(?!)|[A-Za-z]{1,20} ))?[\w.-]+)"
    r"\\?['\"]?"
    r"(?:\s{0,3}[=:](?P<space>\s{0,3})|(?(option)[\s,]{1,3}|(?!)))(?P<quote>\\?['\"])?"
)
_SCHEMES = r"(?:(?:Bearer|Basic|Token|Digest)\s+)?"
_BARE = r"(?:[^\s,;&'\"}\])]|(?<=\w)'(?=\w))+"
#: By the quote before them; in one that is escaped, what is escaped has two more backslashes.
_VALUES = {
    None: re.compile(
        _SCHEMES + rf"(?:\[[^\]\n]*\]|\([^)\n]*\)|\{{[^}}\n]*\}}|{_BARE})", re.IGNORECASE
    ),
    "'": re.compile(r"(?:\\.|[^'\\\n])+"),
    '"': re.compile(r'(?:\\.|[^"\\\n])+'),
    "\\'": re.compile(r"(?:\\{2,}.|(?!\\?').)+"),
    '\\"': re.compile(r'(?:\\{2,}.|(?!\\?").)+'),
}
#: Further words of a passphrase, up to the next name or option.
_PHRASE = re.compile(r"pass(?:word|wd|phrase)s?$", re.IGNORECASE)
_FURTHER = re.compile(rf"(?: (?!-|[\w.-]+ ?[=:]){_BARE})*")
#: A truth value, a token of a vocabulary, a variable that holds the secret, a masked secret.
_STANDS_FOR = re.compile(
    r"(?i:none|null|empty|true|false|[-+]?inf(?:inity)?)|<.*>|\|.*\||\[[A-Z_\d]{1,12}\]|\$\{?\w+\}?|\*+",
    re.DOTALL,
)
#: A number with or without a unit, or one of several: "1.5e-6", "12ms", "3.1k tok/s", "3/8".
_QUANTITY = re.compile(
    r"[-+]?[\d.,_]+(?:e[-+]?\d+)?(?: ?(?:[mun]?s|min|h|[kMGBT]i?B?|%|x|it|tok\w{0,3}))?"
    r"(?:/\w{1,5})?",
    re.IGNORECASE,
)

# -- by form ---------------------------------------------------------------------------------

_ADDRESS = re.compile(r"\b([a-z][\w+.-]{0,30}://)([^\s'\"<>]+)", re.IGNORECASE)
#: A login before a host; a port is no password.
_LOGIN = re.compile(r"[^/?#]*@|[^/:@]*:(?!\d{1,5}(?:/|$)).*@")
_HOOK = re.compile(r"(?<![a-z\d])(?:web)?hooks?(?![a-z\d])", re.IGNORECASE)
#: Of what is random; words of a long name have more letters each.
_RANDOM = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{32,}={0,2}")
_LETTERS_OF_WORD, _CHARACTERS_OF_PIECE = 3.5, 8
#: Of what may be a key where something is called so.
_LONG, _HEX = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}"), re.compile(r"[A-Fa-f\d]{32,}")
_FORMS = (
    (re.compile(r"(?<![\w/.:-])[\w.-]+:[^\s:@/'\"]{3,}@(?=[\w-]+(?:\.\w|:\d))"), ""),
    (re.compile(r"/bot\d{6,}:[\w-]{20,}"), f"/bot{MASK}"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END[^-]*-----|$)", re.DOTALL), MASK),
)
_TOKENS = (
    (
        re.compile(
            r"((?<![a-z])(?:log(?:ged )?in|api[ _-]?key)\b"
            r"(?:(?!commit|revision|sha|git|branch|head)[^\n]){0,80}?)\b[a-f\d]{40}\b",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(r"\b(Bearer)\s+(?=[\w~+/=-]*[\d._=-]|\w{16})[\w.~+/=-]{6,}", re.IGNORECASE),
        rf"\1 {MASK}",
    ),
    (re.compile(r"\b(Basic)\s+(?=\S*[A-Z\d=])[A-Za-z0-9+/]{8,}={0,2}"), rf"\1 {MASK}"),
    (re.compile(r"\beyJ[\w-]{8,}(?:\.[\w-]*){0,4}"), MASK),
    (
        re.compile(
            r"\b(?:(?:AKIA|ASIA|AROA|AIDA)[A-Z\d]{12,}|(?:hf|gsk|npm|r8)_[A-Za-z\d]{16,}"
            r"|(?:gh[pousr]|github_pat|dckr_pat|wandb_v\d|tgp_v\d|[spr]k_live|[spr]k_test)_\w{16,}"
            r"|(?:sk|glpat|pypi|nvapi)-(?=\S*\d)[\w-]{16,}|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}"
            r"|AIza[\w-]{30,}|ya29\.[\w.-]{8,}|SG\.[\w-]{16,}\.[\w-]{16,})"
        ),
        MASK,
    ),
)


def without_secrets(text: str) -> str:
    """The first 2,048 characters of a text, with :data:`MASK` for all that looks like a secret."""
    text = text[:_MOST_SEARCHED]
    text = _ADDRESS.sub(lambda m: m[1] + _public(m[2]), text)
    for form, instead in _FORMS:
        text = form.sub(instead, text)
    text = _without_given(text)
    for form, instead in _TOKENS:
        text = form.sub(instead, text)
    return _RANDOM.sub(lambda m: MASK if _is_random(m[0]) else m[0], text)


def masked(name: str, value: str) -> str:
    """The first 2,048 characters of the value of a setting or of a variable of the environment, or
    :data:`MASK` where its name is that of a secret; without the secrets that are in it."""
    return MASK if _is_secret(name, value[:_MOST_SEARCHED]) else without_secrets(value)


def _public(address: str) -> str:
    """What follows the scheme of an address, without login, query, and the path of a webhook."""
    login = _LOGIN.match(address)
    host, slash, path = address[login.end() if login else 0 :].partition("?")[0].partition("/")
    return f"{host}/{MASK}" if path and _HOOK.search(f"{host}/{path}") else host + slash + path


def _without_given(text: str) -> str:
    """The text without values that are given to names of secrets."""
    parts, at = [], 0
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
    return "".join([*parts, text[at:]])


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is the secret that its name says it is."""
    found = _WORD.findall(name[-_MOST_OF_NAME:])
    words = _TAIL.sub("", " ".join(found).lower()).split()
    *_, before, last = ["", "", *words]
    one = last if last in _LAST else last.removesuffix("s")
    if one in _LAST:
        is_named = before not in _LAST[one]
    else:
        is_named = (before, one) in _PAIRS or _GLUED.search(last) is not None
        is_named |= one == "key" and before not in _PUBLIC_KEYS and _is_key(value)
        is_named |= one not in _ABOUT and any(word.removesuffix("s") in _ANYWHERE for word in words)
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


def _is_random(text: str) -> bool:
    """Whether it is more like the base64 of a key than like words, or a path."""
    letters = "".join(_WORD.findall(text))
    is_mixed = letters.lower() != letters != letters.upper() and any(map(str.isdigit, letters))
    return is_mixed and _is_wordless(text)


def _is_wordless(text: str) -> bool:
    """Whether its letters and digits change too often for words, and it has few separators."""
    words, pieces = _WORD.findall(text), len(re.findall(r"[+/_-]", text))
    is_short = sum(map(len, words)) < _LETTERS_OF_WORD * len(words)
    return is_short and pieces * _CHARACTERS_OF_PIECE <= len(text)

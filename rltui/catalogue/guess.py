"""Tags that no dialect knows: category, short title and family from their words.

Nothing is hidden: a tag that cannot be guessed goes to Other under its own name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rltui.catalogue.metrics import STATS
from rltui.catalogue.model import Category, TagInfo

_C = Category
#: Words of a tag part and the categories they suggest, most reliable first.
_WORDS: tuple[tuple[Category, frozenset[str]], ...] = tuple(
    (category, frozenset(words.split()))
    for category, words in (
        (_C.VALIDATION, "val eval evaluation valid validation test heldout dev"),
        (_C.TIMING, "time times timing timer timers duration latency elapsed"),
        (_C.LENGTH, "length lengths len token tokens completion truncated seqlen"),
        (_C.PERF, "perf performance throughput mfu fps sps flops tflops speed tps"),
        (_C.BALANCE, "balance imbalance"),
        (_C.TURNS, "turn turns tool tools"),
        (_C.SYSTEM, "gpu cpu mem memory ram system disk network host"),
        (_C.HYPER, "lr learning coef coeff beta gamma temperature hparam"),
        (_C.CRITIC, "critic value values vf reward rewards return returns advantage advantages"),
        (_C.CRITIC, "score scores episode env q qf success win"),
        (_C.ACTOR, "actor policy pg ppo grpo loss losses entropy kl grad gradient optimizer"),
        (_C.ACTOR, "clip clipfrac ratio logp logprob learner optim"),
        (_C.PREFERENCE, "dpo kto orpo preference chosen rejected margin margins"),
        (_C.PROGRESS, "epoch step steps iteration iterations counter progress"),
    )
)

_SPLIT = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z])(?=[A-Z])")
_BLANK = re.compile(r"\s+")
_JOINT = re.compile(r"[\s-]+")


@lru_cache(maxsize=8192)
def plain_name(tag: str) -> str:
    """The tag as most loops would write it: ``Avg Response Len`` is ``avg_response_len``."""
    return _JOINT.sub("_", tag.strip()).lower()


def guess_category(tag: str) -> Category:
    """The category that the words of the tag suggest, its first parts before its last."""
    for part in tag.split("/"):
        words = {w.lower() for w in _SPLIT.split(part) if w}
        if not words:
            continue
        for category, known in _WORDS:
            if words & known:
                return category
    return Category.OTHER


#: How a label may appear in a title: ``{name}`` is its last path part, ``{name:words}`` the same
#: as words (with the part before it where that is only a statistic), ``{name:full}`` all of it.
LABEL_FORMATS = ("words", "full")


def label_text(label: str, form: str = "") -> str:
    """A label as one of :data:`LABEL_FORMATS`."""
    if form == "full":
        return label
    if form == "words":
        return short_title(label)
    return label.rstrip("/").rpartition("/")[2] or label


def short_title(tag: str) -> str:
    """A readable short form: the last part, with the one before it where that is needed.

    ``a/b/reward_std`` becomes ``reward std``, ``x/layer00/mean`` becomes ``layer00 mean``.
    """
    parts = [p for p in tag.split("/") if p.strip()]
    if not parts:
        return tag or "(no name)"
    last = parts[-1]
    keep = parts[-2:] if len(parts) > 1 and (last.lower() in STATS or len(last) < 4) else [last]
    words = _BLANK.sub(" ", " ".join(keep).replace("_", " ")).strip()
    return words or tag


def tag_family(tag: str, stat: str | None = None) -> tuple[str, str] | None:
    """Family and statistic when the tag ends in a statistic: ``x/*`` and ``mean`` of ``x/mean``.

    With ``stat`` given the tag may also carry it inside its last part (``completions/min_length``
    belongs to ``completions/*_length``).
    """
    head, slash, last = tag.rpartition("/")
    if last in STATS and slash:
        return f"{head}/*", last
    if stat is None:
        return None
    if last.endswith(f"_{stat}"):
        return f"{head}{slash}{last[: -len(stat)]}*", stat
    if last.startswith(f"{stat}_"):
        return f"{head}{slash}*{last[len(stat) :]}", stat
    return None


def unknown_tag(tag: str, category: Category | None = None) -> TagInfo:
    """The answer for a tag that no dialect knows."""
    family = tag_family(tag)
    return TagInfo(
        tag=tag,
        metric=None,
        title=short_title(tag),
        category=category or guess_category(tag),
        family=family[0] if family else None,
        stat=family[1] if family else None,
    )

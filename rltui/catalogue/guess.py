"""Tags that no dialect knows: category, short title and family from their words.

Nothing is hidden: a tag that cannot be guessed goes to Other under its own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from rltui.catalogue.metrics import STATS
from rltui.catalogue.model import Category, TagInfo
from rltui.catalogue.normal import normal, usual_words
from rltui.catalogue.words import category_ranks
from rltui.core.text import Names, shared_start, word_set

#: Words that start a tag (or a part of it) of evaluation.
_HELD_OUT = word_set("val eval evaluation valid validation test heldout dev")
#: First words of counters, and what they count.
_NUMBER = word_set("num n total count number nb")
_COUNTED = word_set(
    "step steps timestep timesteps episode episodes epoch epochs iteration frames transitions "
    "updates samples"
)
_MEASURED = word_set("reward return length time loss score throughput per rate fps")

#: Words that say score, those at its end that say time, speed or count, and those of spread.
_SCORES = word_set("reward return score scores fitness")
_TIMES = word_set(
    "time times timer timers seconds minutes hours ms latency duration elapsed runtime "
    "walltime eta speed fps sps count"
)
_SPREADS = word_set("std var variance sem stderr")
#: Words at the end of a name that say which value of many it is.
_WHICH = frozenset((*STATS, "total", "last")) - _SPREADS
#: Words of a reward, the likelier first; words that one of the whole task may have beside them; and
#: words of what is only a part, a statistic, a setting or a comparison of it.
_REWARDS = tuple(map(word_set, ("reward", "return", "score scores fitness")))
_WHOLE = word_set("mean average total episode task env environment terminal final team global raw")
_WHOLE |= word_set(
    "train training agent true extrinsic overall running rolling window smoothed ema"
)
_PARTIAL = word_set(
    "min max median best worst target baseline scale scaling coef weight norm clip bonus penalty "
    "cost intrinsic curiosity shaping shaped format length kl loss entropy threshold gamma zero "
    "valid invalid error advantage value gap margin chosen rejected percentile count num n number "
    "rate ratio frac gradnorm normalizer"
)

#: Categories that the name of an experiment may seem to have (``ppo_seed_1``), and the fewest tags
#: that show what all of them have in front.
_MAY_NAME_RUNS = frozenset({Category.OTHER, Category.HYPER, Category.ACTOR, Category.PREFERENCE})
_ENOUGH = 3

#: Where a word of lower case is followed by a capital: ``LossPi``, but not ``GB`` or ``mW``.
_CAMEL = re.compile(r"(?<=[a-z][a-z])(?=[A-Z][a-z])")
#: ``It/sec``, ``tokens_per_second``, ``CurSamplesPerSec``.
_RATE = re.compile(r"(?:/|[_ ]per[_ ]|Per)(?:s|[sS]ec|[sS]econd)$")
_WINDOW = re.compile(r"_?\((?:last_|past_|over_)?\d+(?:_?[a-z]+)?\)$")
_NUMBERED = re.compile(r"(?<=[a-z])\d+")
_BLANK = re.compile(r"\s+")
_JOINT = re.compile(r"[\s-]+")


@lru_cache(maxsize=8192)
def plain_name(tag: str) -> str:
    """The tag as most loops would write it: ``Avg Response Len`` is ``avg_response_len``."""
    return _JOINT.sub("_", tag.strip()).lower()


def without_window(tag: str) -> str:
    """The name of a moving mean without its window: ``Avg Reward (last 50)`` is
    ``avg_reward``."""
    return _WINDOW.sub("", plain_name(tag))


def guess_category(tag: str) -> Category:
    """The category that the words of the tag suggest, its first parts before its last."""
    parts = [words for part in tag.split("/") if (words := usual_words(normal(part))) != ("",)]
    if any(words[0] in _HELD_OUT for words in parts):
        return Category.VALIDATION
    if parts and _is_counter(parts[-1]):
        return Category.PROGRESS
    if _RATE.search(tag):
        return Category.PERF
    for ranks in category_ranks():
        for words in parts:
            best = min((ranks[word] for word in words if word in ranks), default=None)
            if best is not None:
                return best[1]

    return Category.OTHER


def _is_counter(words: Names) -> bool:
    """``num_env_steps_sampled``, ``total_timesteps``: not ``total_episode_reward``."""
    if words[0] not in _NUMBER or _COUNTED.isdisjoint(words):
        return False
    return _MEASURED.isdisjoint(words)


def names_score(tag: str) -> bool:
    """Whether a word of the tag says reward, return or score."""
    return not _SCORES.isdisjoint(usual_words(normal(tag)))


def is_no_score(tag: str) -> bool:
    """Whether the name says time, speed, spread or count: ``reward_std``, ``lens_stat/std``."""
    for part in tag.split("/"):
        words = usual_words(normal(part))
        while len(words) > 1 and words[-1] in _WHICH:
            words = words[:-1]
        if words[-1] in _TIMES or not _SPREADS.isdisjoint(words) or _is_counter(words):
            return True
    return is_rate(tag)


def is_rate(tag: str) -> bool:
    """Whether the name says so many a second."""
    return _RATE.search(tag) is not None


def likely_reward(tags: Iterable[str]) -> str | None:
    """Which of some tags that nobody knows is the best guess at the reward; None when none of
    them looks like it."""
    best: tuple[tuple[int, ...], str] | None = None
    for tag in tags:
        words = usual_words(_NUMBERED.sub("", normal(tag)))
        kind = next((i for i, known in enumerate(_REWARDS) if not known.isdisjoint(words)), None)
        if kind is None or is_no_score(tag) or not _PARTIAL.union(_HELD_OUT).isdisjoint(words):
            continue
        foreign = [
            w for w in words if w not in _REWARDS[kind] | _WHOLE and len(w) > 1 and not w.isdigit()
        ]
        rank = (kind, len(foreign), "mean" not in words, "episode" not in words)
        if best is None or rank < best[0]:
            best = rank, tag
    return None if best is None else best[1]


def shared_head(tags: Sequence[str]) -> str:
    """Beginning that all tags of a run share, up to a separator, where that may be the name of an
    experiment: it says nothing of a quantity, nor of evaluation. "" where there is none."""
    if len(tags) < _ENOUGH:
        return ""
    shared = shared_start(tags)
    head = shared[: max(map(shared.rfind, "/_.-: |")) + 1]
    quantity = guess_category(head) not in _MAY_NAME_RUNS
    return "" if quantity or any(len(tag) == len(head) for tag in tags) else head


def guessed_title(title: str) -> str:
    """The title of a tag whose meaning is a guess."""
    return f"{title} (guessed)"


#: How a label may appear in a title: ``{name}`` is its last path part, ``{name:words}`` the same
#: as words (with the part before it where that is only a statistic).
LABEL_FORMATS = ("words",)


def label_text(label: str, form: str) -> str:
    """A label as one of :data:`LABEL_FORMATS`."""
    if form == "words":
        return short_title(label)
    return label.rstrip("/").rpartition("/")[2] or label


#: Last parts that say little without the part before them.
_VAGUE = frozenset((*STATS, "info", "episode", "value", "total", "step", "time", "iter", "all"))


#: The unit of all tags in a folder.
_UNIT = re.compile(r"_(s|ms|secs?|seconds)$")


def short_title(tag: str) -> str:
    """A readable short form: the last part, with the one before it where that is needed.

    ``a/b/reward_std`` becomes ``reward std``, ``x/layer00/mean`` becomes ``layer00 mean``,
    ``timing_s/step`` becomes ``timing step``.
    """
    parts = [p for p in tag.split("/") if p.strip()]
    if not parts:
        return tag or "(no name)"
    last = parts[-1].strip()
    vague = len(last) < 4 or last.lower() in _VAGUE
    before = _UNIT.sub("", parts[-2]) if vague and len(parts) > 1 else ""
    return _words([before, last]) or tag


def full_title(tag: str) -> str:
    """All parts of a tag as words, for tags with the same short title."""
    return _words(p for p in tag.split("/") if p.strip()) or tag


def distinct_titles(title: str, tags: Sequence[str]) -> list[str]:
    """Different titles of tags that have the same one: with the part of the tag that differs.

    The first tag keeps the title, unless the tags differ in one part alone (``best@2``,
    ``best@4``). That part takes the place of a word of the title with which it begins.
    """
    if len(tags) == 1:
        return [title]
    parts = [tag.split("/") for tag in tags]
    columns = list(zip(*parts, strict=False))
    differing = [i for i, column in enumerate(columns) if len(set(column)) > 1]
    at = differing[0] if differing else 0
    siblings = len({len(p) for p in parts}) == 1 and len(differing) == 1
    found = [_with_part(title, p[at]) for p in parts]
    if not siblings:
        found[0] = title
    unique = len(set(found)) == len(found)

    return found if unique else [title, *(f"{title}, {tag}" for tag in tags[1:])]


def _with_part(title: str, part: str) -> str:
    for word in title.split():
        stem = word.rstrip(".,")
        if stem and part.lower().startswith(stem.lower()) and part.lower() != stem.lower():
            end = "," if word.endswith(",") else ""
            if normal(part).startswith(normal(title)):  # all of it, not just that word
                return _words([part])
            return title.replace(word, f"{_words([part])}{end}", 1)
    return f"{title}, {_words([part])}"


def _words(parts: Iterable[str]) -> str:
    """Parts of a tag as words: ``AverageEpRet`` is ``Average Ep Ret``."""
    text = " ".join(parts).replace("_", " ").replace("|", " ")
    return _BLANK.sub(" ", _CAMEL.sub(" ", text)).strip()


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

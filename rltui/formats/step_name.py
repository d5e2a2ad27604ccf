"""Names of step columns and of training figures in logs with named columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rltui.formats.base import COARSE_KEYS

#: Step columns of writers of tables, besides those of JSON lines; compared as plain words.
#: TotalEnvInteracts: Spinning Up; TotalEnvSteps: garage; TimestepsSoFar: baselines; num steps
#: total: rlkit; CumSteps: rlpyt; nb_steps: keras-rl; t_env: PyMARL.
_MORE_STEP_NAMES = (
    *("TotalEnvInteracts", "TotalEnvSteps", "TimestepsSoFar", "num steps total", "CumSteps"),
    *("trainer_step", "env_frames", "total_frames", "nb_steps", "t_env", "env_interactions"),
    *("evaluator_steps", "num_steps", "nsteps", "n_timesteps", "train_steps", "training_steps"),
    *("gradient_steps", "updates_total", "nupdates", "itr", "generation"),
)
_MORE_COARSE_NAMES = (
    *("EpisodesSoFar", "n_episodes", "num_episodes", "total_episodes", "nb_episodes"),
)
_WORDLESS = re.compile(r"[^a-z0-9]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: Words of a counter, and words that show that a name is none.
_COUNTERS = frozenset(
    (
        *("step", "steps", "timestep", "timesteps", "iter", "iters", "iteration", "iterations"),
        *("itr", "epoch", "epochs", "episode", "episodes", "frame", "frames", "update", "updates"),
        *("interaction", "interactions", "interacts", "round", "rounds", "trial", "trials"),
        *("game", "games", "tick", "ticks", "generation", "generations", "batches"),
    )
)
_NO_COUNTERS = frozenset(
    (
        *("reward", "rewards", "rew", "return", "ret", "loss", "len", "length", "mean", "avg"),
        *("average", "per", "sec", "second", "seconds", "time", "fps", "std", "min", "max", "rate"),
        *("score", "size", "lr", "eval", "test", "remaining", "id", "this"),
    )
)
_FIGURES = re.compile(
    r"loss|reward|return|entropy|perplexity|explainedvar|gradnorm|learningrate|successrate"
    r"|tderror|epsilon|approxkl|kldiv|epre[wt]|rewmean|meanrew|avgrew|accuracy|winrate"
)
_FIGURE_WORDS = frozenset(("kl", "lr", "fps", "sps", "rew", "ret", "ppl", "acc", "ev", "auc"))
#: Words of data sets and of predictions.
_DATA = frozenset(
    (
        *("id", "ids", "label", "labels", "class", "target", "targets", "name", "date", "text"),
        *("file", "filename", "path", "url", "image", "user", "item", "price", "prediction"),
        *("predictions", "pred", "preds", "question", "answer", "country", "age", "gender"),
    )
)


def plain(name: str) -> str:
    """A name without anything but its letters and digits, in lower case."""
    return _WORDLESS.sub("", name.lower())


def words(name: str) -> frozenset[str]:
    """The words of a name, also of one in camel case."""
    return frozenset(w.lower() for w in _WORD.findall(name))


def step_names(names: Sequence[str], step_keys: Sequence[str]) -> list[int]:
    """Positions of the names that mean a step, best first."""
    whole = [plain(n) for n in names]
    # behind a prefix of any depth: train/epoch is a metric, misc/total_timesteps a step
    last = [plain(n.rpartition("/")[2]) if "/" in n else "" for n in names]
    fine, coarse = _wanted(tuple(step_keys))
    wanted = (*fine, *coarse)
    found = [i for w in fine for i, n in enumerate(whole) if n == w]
    behind = [i for w in wanted if "step" in w for i, n in enumerate(last) if n == w]
    behind.sort(key=lambda i: "eval" in names[i])
    rest = [i for w in coarse for i, n in enumerate(whole) if n == w]
    return list(dict.fromkeys((*found, *behind, *rest)))


@lru_cache(maxsize=16)
def _wanted(step_keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Plain names of steps, and those of passes and episodes with what follows them."""
    coarse = next((i for i, k in enumerate(step_keys) if k in COARSE_KEYS), len(step_keys))
    fine = dict.fromkeys(plain(k) for k in (*step_keys[:coarse], *_MORE_STEP_NAMES))
    rest = dict.fromkeys(plain(k) for k in (*step_keys[coarse:], *_MORE_COARSE_NAMES))
    return tuple(fine), tuple(rest)


def may_count(name: str) -> bool:
    """Whether a name may be that of a counter of steps."""
    found = words(name)
    return bool(found & _COUNTERS) and not found & _NO_COUNTERS


def is_figure(name: str) -> bool:
    """Whether a name is that of a figure of a training."""
    return _FIGURES.search(plain(name)) is not None or bool(words(name) & _FIGURE_WORDS)


def are_figures(names: Sequence[str]) -> bool:
    """Whether columns without a step are figures of a training rather than data."""
    known = sum(map(is_figure, names))
    return known * 3 >= len(names) and not any(words(n) & _DATA for n in names)

"""Learned gates, on good and on sick nightlies: ``python -m benchmarks.gate [FOLDER]``.

Two small learners are trained for real, with a seed for each run. ``grpo`` is a policy over answers
of a few tokens (a hidden layer, Adam, PPO's clip, groups of answers to one prompt) that goes on
from one checkpoint, as nightlies of post-training do, and logs the tags of verl; ``actor-critic``
begins from scratch on the pole that is to be balanced, and logs those of SB3. Neither logs its
learning rate. Sick runs have a hundred times the learning rate, or sample at a temperature of 1.5
in place of 1. A gate is learned on eight good runs and judges the other good and all sick ones:
first on those with the first names, then on others at random. What the verdict says is left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from benchmarks.machine import table
from rltui.catalogue import load_catalogue
from rltui.core.block import FloatArray
from rltui.facts.gate import Known, Others, judge, learned, left_out, read_conditions
from rltui.output.gate import learned_text
from rltui.session import JudgedRun, Session

Rows = Iterator[dict[str, float]]
#: Good runs, those a gate is learned on, sick runs of each kind, and how often it is learned.
GOOD, LEARNED, SICK, REPEATS = 38, 8, 10, 40
KINDS = {"good": (1.0, 1.0), "lr x 100": (100.0, 1.0), "temperature 1.5": (1.0, 1.5)}


class Adam:
    """Adam with a clipped gradient, over a list of arrays that it changes in place."""

    def __init__(self, weights: list[FloatArray], rate: float, clip: float) -> None:
        self.weights, self.rate, self.clip, self.steps = weights, rate, clip, 0
        self.first = [np.zeros_like(w) for w in weights]
        self.second = [np.zeros_like(w) for w in weights]

    def step(self, gradients: list[FloatArray]) -> float:
        """Go down; returns the norm of the gradient before it is clipped."""
        norm = float(np.sqrt(sum(float((g * g).sum()) for g in gradients)))
        scale = min(1.0, self.clip / (norm + 1e-8))
        self.steps += 1
        for w, g, m, v in zip(self.weights, gradients, self.first, self.second, strict=True):
            m += 0.1 * (g * scale - m)
            v += 0.001 * ((g * scale) ** 2 - v)
            unbiased = m / (1 - 0.9**self.steps), v / (1 - 0.999**self.steps)
            w -= self.rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
        return norm


def softmax(logits: FloatArray) -> FloatArray:
    """Over the last axis."""
    e: FloatArray = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def sampled(random: np.random.Generator, p: FloatArray) -> np.ndarray:
    """One index of each distribution along the last axis."""
    u = random.random(p.shape[:-1])[..., None]
    return np.asarray(np.minimum((p.cumsum(-1) < u).sum(-1), p.shape[-1] - 1))


# -- answers of a few tokens ---------------------------------------------------------------

PROMPTS, WIDTH, TOKENS, VOCABULARY, GROUP, BATCH = 256, 24, 6, 12, 8, 16


def _task() -> tuple[FloatArray, np.ndarray, list[FloatArray]]:
    """Prompts (n, d), their right tokens (n, t), and a checkpoint that knows some of them."""
    random = np.random.default_rng(0)
    x = random.normal(size=(PROMPTS, WIDTH))
    right = (x @ random.normal(size=(WIDTH, TOKENS * VOCABULARY))).reshape(
        PROMPTS, TOKENS, VOCABULARY
    ).argmax(-1)  # fmt: skip
    weights = [
        random.normal(size=(WIDTH, 48)) / 5,
        random.normal(size=(48, TOKENS * VOCABULARY)) / 7,
    ]
    adam = Adam(weights, 0.003, 1.0)
    for _ in range(60):
        rows = random.integers(0, PROMPTS, 64)
        hidden, p = _policy(weights, x[rows], 1.0)
        off = p - np.eye(VOCABULARY)[right[rows]]
        adam.step(_gradients(weights, x[rows], hidden, off / 64))
    return x, right, weights


def _policy(
    w: list[FloatArray], x: FloatArray, temperature: float
) -> tuple[FloatArray, FloatArray]:
    """Hidden layer (n, h) and probabilities (n, t, v)."""
    hidden = np.tanh(x @ w[0])
    return hidden, softmax((hidden @ w[1]).reshape(len(x), TOKENS, VOCABULARY) / temperature)


def _gradients(
    w: list[FloatArray], x: FloatArray, hidden: FloatArray, off: FloatArray
) -> list[FloatArray]:
    flat = off.reshape(len(x), -1)
    return [x.T @ ((flat @ w[1].T) * (1 - hidden**2)), hidden.T @ flat]


def grpo(seed: int, rate: float, temperature: float) -> Rows:
    """GRPO from the checkpoint: 120 steps of 16 prompts with 8 answers each, two updates a step."""
    x, right, w = _task()
    random, adam = np.random.default_rng(1000 + seed), Adam(w, 0.002 * rate, 1.0)
    for step in range(1, 121):
        rows = np.repeat(random.choice(PROMPTS, BATCH, replace=False), GROUP)
        _, old = _policy(w, x[rows], temperature)
        tokens = sampled(random, old)
        score = (tokens == right[rows]).mean(-1)
        groups = score.reshape(-1, GROUP)
        gain = (
            (groups - groups.mean(1, keepdims=True)) / (groups.std(1, keepdims=True) + 1e-6)
        ).ravel()
        before = np.take_along_axis(old, tokens[..., None], -1)[..., 0]
        norms, clips, losses = [], [], []
        for part in np.array_split(random.permutation(len(rows)), 2):
            hidden, p = _policy(w, x[rows[part]], temperature)
            ratio = np.take_along_axis(p, tokens[part][..., None], -1)[..., 0] / before[part]
            a = gain[part][:, None]
            cut = ((ratio > 1.2) & (a > 0)) | ((ratio < 0.8) & (a < 0))
            losses.append(-float(np.minimum(ratio * a, np.clip(ratio, 0.8, 1.2) * a).mean()))
            clips.append(float(cut.mean()))
            off = (p - np.eye(VOCABULARY)[tokens[part]]) * (np.where(cut, 0, ratio) * a)[..., None]
            norms.append(
                adam.step(_gradients(w, x[rows[part]], hidden, off / temperature / off.shape[0]))
            )
        _, p = _policy(w, x[rows], temperature)
        after = np.take_along_axis(p, tokens[..., None], -1)[..., 0]
        row = {
            "critic/score/mean": float(score.mean()), "critic/score/max": float(score.max()),
            "critic/score/min": float(score.min()), "actor/pg_loss": float(np.mean(losses)),
            "actor/entropy": float(-(old * np.log(old + 1e-12)).sum(-1).mean()),
            "actor/ppo_kl": float(np.log(before / np.maximum(after, 1e-12)).mean()),
            "actor/pg_clipfrac": float(np.mean(clips)), "actor/grad_norm": float(np.mean(norms)),
        }  # fmt: skip
        if step % 10 == 0:
            best = _policy(w, x, 1.0)[1].argmax(-1)
            row["val-core/toy/reward/mean@1"] = float((best == right).mean())
        yield {"step": step, **row}


# -- a pole --------------------------------------------------------------------------------


def _push(state: FloatArray, right: np.ndarray) -> FloatArray:
    """The cart and pole of Barto, Sutton and Anderson (1983), a fiftieth of a second later."""
    x, v, angle, spin = state.T
    sin, cos = np.sin(angle), np.cos(angle)
    pull = (np.where(right, 10.0, -10.0) + 0.05 * spin**2 * sin) / 1.1
    turn = (9.8 * sin - cos * pull) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    move = pull - 0.05 * turn * cos / 1.1
    return np.stack([x + 0.02 * v, v + 0.02 * move, angle + 0.02 * spin, spin + 0.02 * turn], 1)


def actor_critic(seed: int, rate: float, temperature: float) -> Rows:
    """PPO from scratch: 100 updates by 16 carts of 64 pushes each, four passes."""
    random = np.random.default_rng(seed)
    w = [random.normal(size=s) * 0.5 for s in ((4, 32), (32, 2), (4, 32), (32, 1))]
    w[1] *= 0.02
    adam, gamma = Adam(w, 0.003 * rate, 0.5), 0.98
    state, age, lengths = random.uniform(-0.05, 0.05, (16, 4)), np.zeros(16), [20.0]
    for step in range(1, 101):
        states, actions, ends, values, chances = [], [], [], [], []
        for _ in range(64):
            p = softmax(np.tanh(state @ w[0]) @ w[1] / temperature)
            action = sampled(random, p)
            states.append(state)
            actions.append(action)
            chances.append(p[np.arange(16), action])
            values.append((np.tanh(state @ w[2]) @ w[3])[:, 0])
            state, age = _push(state, action == 1), age + 1
            over = (np.abs(state[:, 0]) > 2.4) | (np.abs(state[:, 2]) > 0.2095) | (age >= 200)
            lengths += age[over].tolist()
            ends.append(over)
            state = np.where(over[:, None], random.uniform(-0.05, 0.05, (16, 4)), state)
            age = np.where(over, 0, age)
        nexts = [*values[1:], (np.tanh(state @ w[2]) @ w[3])[:, 0]]
        gains, gain = [], np.zeros(16)
        for value, following, over in zip(values[::-1], nexts[::-1], ends[::-1], strict=True):
            gain = 1 + gamma * following * ~over - value + gamma * 0.95 * ~over * gain
            gains.append(gain)
        s, a = np.concatenate(states), np.concatenate(actions)
        g, v, old = np.concatenate(gains[::-1]), np.concatenate(values), np.concatenate(chances)
        target, g = g + v, (g - g.mean()) / (g.std() + 1e-8)
        kls, clips, entropies, losses, errors = [], [], [], [], []
        for part in [q for _ in range(4) for q in np.array_split(random.permutation(len(s)), 4)]:
            hidden, other = np.tanh(s[part] @ w[0]), np.tanh(s[part] @ w[2])
            p = softmax(hidden @ w[1] / temperature)
            ratio = p[np.arange(len(part)), a[part]] / old[part]
            cut = ((ratio > 1.2) & (g[part] > 0)) | ((ratio < 0.8) & (g[part] < 0))
            off = (p - np.eye(2)[a[part]]) * (np.where(cut, 0, ratio) * g[part])[:, None]
            off /= len(part) * temperature
            error = ((other @ w[3])[:, 0] - target[part])[:, None] / len(part) * 0.5
            adam.step([
                s[part].T @ ((off @ w[1].T) * (1 - hidden**2)), hidden.T @ off,
                s[part].T @ ((error @ w[3].T) * (1 - other**2)), other.T @ error,
            ])  # fmt: skip
            kls.append(float(((ratio - 1) - np.log(np.maximum(ratio, 1e-12))).mean()))
            clips.append(float(cut.mean()))
            entropies.append(float((p * np.log(p + 1e-12)).sum(-1).mean()))
            losses.append(
                -float(np.minimum(ratio * g[part], np.clip(ratio, 0.8, 1.2) * g[part]).mean())
            )
            errors.append(float((error**2).mean() * len(part) ** 2 * 4))
        yield {
            "step": step * 1024, "rollout/ep_rew_mean": float(np.mean(lengths[-100:])),
            "rollout/ep_len_mean": float(np.mean(lengths[-100:])),
            "train/approx_kl": float(np.mean(kls)), "train/clip_fraction": float(np.mean(clips)),
            "train/entropy_loss": float(np.mean(entropies)),
            "train/policy_gradient_loss": float(np.mean(losses)),
            "train/value_loss": float(np.mean(errors)),
            "train/explained_variance": float(1 - (target - v).var() / (target.var() + 1e-12)),
        }  # fmt: skip


LEARNERS: dict[str, Callable[[int, float, float], Rows]] = {
    "grpo": grpo,
    "actor-critic": actor_critic,
}


def train(job: tuple[str, str, int, Path]) -> None:
    """Train one run and write its log."""
    learner, kind, seed, path = job
    path.parent.mkdir(parents=True, exist_ok=True)
    with np.errstate(all="ignore"), path.open("w") as out:
        for row in LEARNERS[learner](seed, *KINDS[kind]):
            out.write(json.dumps(row) + "\n")


def rates(
    good: list[JudgedRun], sick: list[JudgedRun], file: Path
) -> tuple[FloatArray, FloatArray, int]:
    """Shares of the other good runs, and of the sick ones, that gates fail; months with none."""
    known = Known(load_catalogue().metrics, ())
    random, false, found = np.random.default_rng(1), [], []
    for repeat in range(REPEATS):
        order = [good[i] for i in random.permutation(len(good))] if repeat else good
        file.write_text(learned_text(learned(order[:LEARNED]), order[:LEARNED]))
        gate = [c for c in read_conditions(file, known) if not c.parts["no"]]
        fails = [[not all(judge(c, r, Others()).met for c in gate) for r in runs]
                 for runs in (order[LEARNED:], sick)]  # fmt: skip
        false.append(fails[0])
        found.append(fails[1])
    return np.array(false), np.array(found), sum(not any(f) for f in false)


def main() -> None:
    """Train, learn, judge; prints a table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    places = {(x, kind): folder / x / kind.replace(" ", "_") for x in LEARNERS for kind in KINDS}
    jobs = []
    for (learner, kind), place in places.items():
        first = 100 * list(KINDS).index(kind)
        seeds = range(first, first + (GOOD if kind == "good" else SICK))
        jobs += [(learner, kind, seed, place / f"run_s{seed}.jsonl") for seed in seeds]
    with Pool(2) as pool:
        pool.map(train, [job for job in jobs if not job[3].exists()], chunksize=1)
    rows = []
    for learner in LEARNERS:
        runs = {}
        for kind in KINDS:
            session = Session([places[learner, kind]])
            session.scan()
            session.read_all()
            runs[kind] = session.runs()
        wrong = left_out(runs["good"])
        good = [r for r in runs["good"] if r.key not in wrong]
        for kind in list(KINDS)[1:]:
            false, found, quiet = rates(good, runs[kind], folder / f"{learner}.yaml")
            bad = sum(r.verdict.level.word == "bad" for r in runs[kind])
            counts = (false[0], found[0], false, found)
            told = [f"{x.sum()} of {x.size}" for x in counts]
            rows.append((learner, kind, *told, f"{quiet} of {REPEATS}", f"{bad} of {SICK}"))
    head = ("learner", "sick by", "good failed", "sick found", "... of all repeats", "sick found",
            "months quiet", "bad by verdict")  # fmt: skip
    sys.stdout.write("\n".join(table(head, rows)) + "\n")


if __name__ == "__main__":
    main()

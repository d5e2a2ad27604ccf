"""Records of the catalogue: possible meanings of a tag. No files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from enum import Enum
from typing import Annotated, NamedTuple

from rltui.core.level import Direction
from rltui.core.record import record
from rltui.core.text import Names, natural
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, read_record

#: Lowest and highest value, each None where there is none.
Limits = tuple[float | None, float | None]


class Category(str, Enum):
    """Where a metric is shown. Order is the order of tabs; the word is used in JSON and in
    configurations."""

    VALIDATION = "validation"
    ACTOR = "actor"
    CRITIC = "critic"
    LENGTH = "length"
    PREFERENCE = "preference"
    REWARD_MODEL = "reward_model"
    TURNS = "turns"
    TIMING = "timing"
    ROLLOUT = "rollout"
    PERF = "perf"
    BALANCE = "balance"
    SYSTEM = "system"
    HYPER = "hyper"
    PROGRESS = "progress"
    OTHER = "other"

    @property
    def heading(self) -> str:
        """Its name for people."""
        words = "agents" if self is Category.TURNS else self.value
        return words.replace("_", " ").capitalize()


class Range(NamedTuple):
    """A documented healthy range; None means open on that side."""

    low: float | None = None
    high: float | None = None


def read_range(node: Node) -> Range | None:
    """``{low: ..., high: ...}``; an empty mapping means none."""
    found = read_record(node, Range)
    if found.low is not None and found.high is not None and found.low > found.high:
        node.fail("low lies above high")
    return None if found == Range() else found


class Derivation(NamedTuple):
    """How a metric that no framework logs is derived from two logged ones of the same run."""

    how: str
    """``difference`` (first minus second) or ``ratio`` (first over second)."""
    first: str
    second: str
    """Metric keys."""


class Spread(NamedTuple):
    """Companions of a metric that logs the largest of several values."""

    title: str
    low: str
    """Key of the smallest value."""
    mean: str = ""
    """Key of their mean, if that is logged."""


class Metric(NamedTuple):
    """One quantity, regardless of what a framework calls it."""

    key: str
    """Dotted id: ``entropy``, ``kl.old_new``. Rules name their inputs by it."""
    title: str
    """Short name on screen (at most 19 cells): ``KL to old policy``."""
    category: Category
    direction: Direction
    meaning: str
    """One to three sentences for the metric screen."""
    source: str
    also: Category | None = None
    """A second tab that shows it too (learning rate in Actor)."""
    unit: str = ""
    """nats, tok, s, tok/s, tok/s/gpu, GB, ... or "" for none."""
    healthy: Annotated[Range | None, Keyed(read=read_range)] = None
    """Documented absolute healthy range, if any; rules may judge differently."""
    order: int = 1 << 20
    """Position in the catalogue."""
    family: str | None = None
    """Key that the statistics of one quantity share: ``response_length`` of ``.mean``, ``.max``."""
    stat: str | None = None
    """mean, max, min, ... within the family."""
    derived: Derivation | None = None
    """Set when no framework logs it."""
    part_of: str = ""
    """Key of the metric that these seconds are a part of: ``time.step`` for a stage of the step,
    another stage for what happens inside that one."""
    per_token: str = ""
    """Key of the metric that is the same per token."""
    tokens: str = ""
    """Key of the metric that counts the tokens it handles in one step."""
    waits: str = ""
    """Choice of metrics (see :func:`select`): the load of the heaviest rank, for which all others
    wait in this stage."""
    spread: Spread | None = None
    """Set for the largest value over ranks, workers or partitions."""
    zero: str = ""
    """Reading of a value that never was anything but 0: ``not measured``; "" where that is ordinary
    or judged by rules."""

    @property
    def is_other(self) -> bool:
        """Whether it stands for whatever has no metric of its own: a catch-all is no meaning."""
        return self.key.endswith("other")


#: Metrics by key.
Metrics = dict[str, Metric]


@record
class TagInfo:
    """Meaning of one tag of one run: the answer of the catalogue."""

    tag: str
    metric: Metric | None
    """None for a tag that the catalogue does not know."""
    title: str
    """Name on screen with labels filled in: ``val gsm8k``; for unknown tags made from the tag."""
    category: Category
    also: Category | None = None
    unit: str = ""
    """The unit that this framework logs in."""
    direction: Direction = Direction.NONE
    healthy: Range | None = None
    meaning: str = ""
    sign: float = 1.0
    """Multiply by it to get the metric: -1 for SB3's entropy_loss."""
    scale: float = 1.0
    """Multiply by it to get the metric's unit: 0.01 where a tool logs percent."""
    family: str | None = None
    """Key of the family that mean/max/min of one thing share (``response_length/*``), or None."""
    stat: str | None = None
    """mean, max, min, std, ... when the tag is a member of a family."""
    labels: dict[str, str] = field(default_factory=dict)
    """Parts of the tag that are user text: source=gsm8k."""
    order: int = 1 << 20
    """Position within its category: catalogue order first, unknown tags last."""
    part_of: str = ""
    """Key of the metric that these seconds are a part of; see :class:`Metric`."""
    estimator: str | None = None
    """k1, k2, k3, analytic, summed ... where a framework's estimator matters to rules."""
    where: str | None = None
    """``file:line`` and pattern of the catalogue entry that matched, for ``rltui explain``."""
    source: str = ""
    added: bool = False
    """Not written by the framework of the run: the user's own tag, named like a common one."""
    guessed: bool = False
    """Whether the metric is only the best guess: findings say so, and none is worse than watch."""
    own_range: Mapping[str, float] = field(default_factory=dict)
    """Ends of ``healthy``, low and high, where the user gives it: it wins over limits of rules."""

    @property
    def key(self) -> str:
        """Key of the metric; empty for a tag that the catalogue does not know."""
        return "" if self.metric is None else self.metric.key

    @property
    def factor(self) -> float:
        """Factor from values in the log to values of the metric."""
        return self.sign * self.scale

    @property
    def place(self) -> str:
        """Node or rank that the tag is about; "" for none."""
        rank = self.labels.get("rank", "")
        return self.labels.get("node") or (f"rank {rank}" if rank else "")

    @property
    def is_held_out(self) -> bool:
        """Whether it is known what of held-out data it is."""
        metric = self.metric
        if metric is None or metric.is_other or metric.key == "val.score":
            return False
        return metric.category is Category.VALIDATION

    def logged_limits(self, low: float | None, high: float | None) -> Limits:
        """Limits of the metric as limits of the values in the log."""
        logged = [None if limit is None else limit / self.factor for limit in (low, high)]
        return (logged[1], logged[0]) if self.factor < 0 else (logged[0], logged[1])

    def factor_to(self, other: TagInfo) -> float:
        """Multiply values of this tag by it to get them in the unit that ``other`` is logged in;
        1 for a tag of another metric."""
        return self.scale / other.scale if self.metric == other.metric else 1.0

    @classmethod
    def of_metric(cls, tag: str, metric: Metric) -> TagInfo:
        """The meaning of a tag that is exactly a metric of the catalogue."""
        return cls(
            tag=tag,
            metric=metric,
            title=metric.title,
            category=metric.category,
            also=metric.also,
            unit=metric.unit,
            direction=metric.direction,
            healthy=metric.healthy,
            meaning=metric.meaning,
            order=metric.order,
            part_of=metric.part_of,
            source=metric.source,
        )


#: The tags of a run, and what each means.
Infos = Mapping[str, TagInfo]


def tags_of(infos: Infos, key: str) -> list[str]:
    """The tags that log a metric."""
    return [tag for tag, info in infos.items() if info.metric is not None and info.key == key]


class Question(NamedTuple):
    """One section of a tab: a question and the metric keys that answer it, in order.

    A key may end in ``.*``; ``a|b`` means the first of them that the run has.
    """

    title: str
    metrics: Names
    id: str = ""
    """For what is said of it elsewhere; "" where nothing is."""

    @property
    def keys(self) -> frozenset[str]:
        """All that it names."""
        return frozenset("|".join(self.metrics).split("|"))


class Environments(NamedTuple):
    """How a run logs its environments or data sources one by one."""

    tab: Category
    title: str
    """The question of the tab that they answer."""
    labels: Names
    """Labels of a tag that name one."""
    whole: Names
    """Names that stand for all of them."""
    metrics: Mapping[str, Names]
    """Column -> metric keys, the first that there is: ``success``, ``reward``, ``samples``, and the
    share of groups that ``none``, ``some`` or ``all`` of their answers solved."""

    def tags(self, infos: Infos) -> dict[str, dict[str, str]]:
        """Environment -> column -> tag, of those with a tag for their success."""
        found: dict[str, dict[str, tuple[int, int, str]]] = {}
        columns: dict[str, list[tuple[str, int]]] = {}
        for column, keys in self.metrics.items():
            for rank, key in enumerate(keys):
                columns.setdefault(key, []).append((column, rank))
        for tag, info in infos.items():
            name = next((info.labels[x] for x in self.labels if x in info.labels), "")
            if not name or name in self.whole:
                continue
            for column, rank in columns.get(info.key, ()):
                place = rank, len(info.labels), tag  # of parts of it, what has the fewest labels
                tags = found.setdefault(name, {})
                tags[column] = min(place, tags.get(column, place))
        return {
            name: {column: place[2] for column, place in tags.items()}
            for name, tags in sorted(found.items(), key=lambda item: natural(item[0]))
            if "success" in tags
        }


class EntropyLaw(NamedTuple):
    """Where R = -a e^H + b is taken to hold."""

    scenario: str
    """Id of the kind of training that it was found for."""
    fit: float
    """Share of the variance of the reward that it must explain: a line through a cloud leads
    anywhere."""
    spent: float
    """Share of the entropy that must be gone: so does a short piece of the curve."""


class RewardParts(NamedTuple):
    """Metrics by which a reward is taken apart, of each the first that a run logs."""

    totals: Names
    """Keys of the whole reward."""
    part: str
    """Key of one of its parts."""
    entropy: str
    """Key of what the policy pays for a rise."""
    success: Names
    """Keys of what is wanted, the best measure first."""
    law: EntropyLaw


class TabQuestions(NamedTuple):
    """Questions of the tabs of categories, from ``data/tabs.yaml``."""

    tabs: Mapping[Category, tuple[Question, ...]]
    environments: Environments
    reward: RewardParts


class Scenario(NamedTuple):
    """Kind of training (PPO/GRPO, DPO/KTO, RM, SFT, classic RL), and what to look at first."""

    id: str
    title: str
    headline: Names
    """Metric keys for the one curve of the Runs list, first one that the run has wins."""
    questions: tuple[Question, ...]
    algorithms: Names = ()
    reward: Names = ()
    """Metric keys of what is earned. Where a run logs none of them, the tag that looks most like a
    reward is taken for the first; empty where nothing is earned."""


class Roles(NamedTuple):
    """Metrics and hyperparameters that concern the run as a whole."""

    step_time: str = ""
    """Key of the metric that is the seconds of one step,"""
    elapsed: str = ""
    """that is the seconds since the run began,"""
    speed: str = ""
    """and that is its steps per second."""
    long_rows: Names = ()
    """Scenarios in which such a step is a row of the log: the axis counts those of environments."""
    stage: str = ""
    """Key of the metric of its stages that have none of their own."""
    checkpoint: str = ""
    """Key of the metric that is logged where a checkpoint is saved."""
    closing: str = ""
    """Key of the metric that a trainer logs in its last row."""
    tokens: str = ""
    """Key of the metric that counts the tokens so far."""
    against: Names = ()
    """Keys of metrics that others are plotted against."""
    total_steps: Names = ()
    """Names of hyperparameters that hold the planned steps."""


class Scope(NamedTuple):
    """Facts that a run's settings tell of its updates, in the words of ``data/settings.yaml``; ""
    where they do not tell."""

    loss: str = ""
    """Whether it is the surrogate of PPO, which the clip cuts off."""
    clip_level: str = ""
    """Whether a token or a whole sequence is clipped."""
    clip_range: str = ""
    kl_estimator: str = ""
    """How the KL to the reference is estimated."""
    weight_level: str = ""
    """Whether a token or a whole sequence gets the weight that corrects for the sampling engine."""
    exact: str = ""
    """Whether sampling engine and trainer are set up to compute the same to the last bit."""


class Recognition(NamedTuple):
    """The framework and algorithm that wrote a set of tags, and why."""

    framework: str
    """Dialect id: verl, trl, sb3, ..., or ``generic``."""
    title: str
    """Name for people: verl, TRL, SB3; empty for generic."""
    algorithm: str | None
    scenario: Scenario
    reasons: Names
    scope: Scope = Scope()

    @property
    def kinds(self) -> frozenset[str]:
        """Words for its kind of training: scenario, and algorithm in lower case."""
        return frozenset((self.scenario.id, (self.algorithm or "").lower()))


class Explanation(NamedTuple):
    """Answer of ``rltui explain NAME`` for a name."""

    name: str
    metric: Metric | None
    """Set when the name is a metric key."""
    tags: tuple[tuple[str, TagInfo], ...]
    """Framework id and answer, for each framework with a pattern of its own for the name."""
    own: tuple[tuple[tuple[Scenario, ...], TagInfo], ...]
    """Scenarios and answer in a run of no known framework, known or not; empty where another
    framework was asked for."""
    patterns: tuple[tuple[str, str, str], ...]
    """Framework id, pattern and ``file:line`` of every entry that writes this metric key."""
    nearest: Names
    """Similar names, when nothing was found."""


def select(keys: Names, present: Collection[str]) -> Names:
    """The metric keys of ``present`` that ``keys`` name: each once, in the order of ``keys``.

    ``a.*`` takes all below ``a`` in alphabetical order; ``a|b`` takes the first that is there.
    """
    chosen: dict[str, None] = {}
    for key in keys:
        for option in key.split("|"):
            found = [option] if option in present else []
            if option.endswith(".*"):
                found = sorted(k for k in present if k.startswith(option[:-1]))
            chosen.update(dict.fromkeys(found))
            if found:
                break
    return tuple(chosen)


def counterpart(info: TagInfo, others: Infos) -> str | None:
    """The tag among ``others``, those of another run, that means the same as ``info``: the same
    tag, else the first of the same metric; None when there is none."""
    same = others.get(info.tag)
    if same is not None and same.metric == info.metric:
        return same.tag
    if info.metric is None:
        return None
    return next((tag for tag, other in others.items() if other.metric == info.metric), None)

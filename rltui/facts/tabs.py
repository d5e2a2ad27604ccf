"""The tabs of a run: which there are, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rltui.catalogue.model import Category
from rltui.core.choice import choose
from rltui.session import RunView

OVERVIEW, FINDINGS, ALL = "overview", "findings", "all"


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab of a run: its id, key and names at three widths."""

    id: str
    key: str
    """The digit that selects it, or ""."""
    title: str
    medium: str
    short: str
    category: Category | None = None


TABS: tuple[Tab, ...] = (
    Tab(OVERVIEW, "1", "Overview", "Overview", "Over"),
    Tab("validation", "2", "Validation", "Val", "Val", Category.VALIDATION),
    Tab("actor", "3", "Actor", "Actor", "Act", Category.ACTOR),
    Tab("critic", "4", "Critic", "Critic", "Crit", Category.CRITIC),
    Tab("length", "5", "Length", "Length", "Len", Category.LENGTH),
    Tab("timing", "6", "Timing", "Timing", "Time", Category.TIMING),
    Tab("perf", "7", "Perf", "Perf", "Perf", Category.PERF),
    Tab("balance", "8", "Balance", "Balance", "Bal", Category.BALANCE),
    Tab(FINDINGS, "9", "Findings", "Findings", "Find"),
    Tab(ALL, "0", "All", "All", "All"),
    Tab("preference", "", "Preference", "Pref", "Pref", Category.PREFERENCE),
    Tab("reward_model", "", "Reward model", "RM", "RM", Category.REWARD_MODEL),
    Tab("turns", "", "Turns", "Turns", "Turn", Category.TURNS),
    Tab("system", "", "System", "System", "Sys", Category.SYSTEM),
    Tab("hyper", "", "Hyper", "Hyper", "Hyp", Category.HYPER),
    Tab("progress", "", "Progress", "Progress", "Prog", Category.PROGRESS),
    Tab("other", "", "Other", "Other", "Oth", Category.OTHER),
)


TAB_BY_ID = {tab.id: tab for tab in TABS}


def tab_named(run: RunView, name: str) -> tuple[Tab | None, str]:
    """The tab that ``name`` is or begins, those of the run first; else None and a hint."""
    tab, hint = choose(name, _names(tabs_of(run)))
    return (tab, hint) if tab else (choose(name, _names(TABS))[0], hint)


def _names(tabs: Iterable[Tab]) -> dict[str, Tab]:
    return {n.lower(): t for t in tabs for n in (t.title, t.id, t.medium, t.short)}


def tabs_of(run: RunView) -> list[Tab]:
    """The tabs that this run has something for; Overview, Findings and All always."""
    have = {i.category for i in run.infos.values()} | {
        i.also for i in run.infos.values() if i.also is not None
    }
    return [t for t in TABS if t.category is None or t.category in have]


def has_tab(run: RunView, tab: str) -> bool:
    """Whether the run has something for the tab of this id."""
    wanted = TAB_BY_ID[tab].category
    return wanted is None or any(wanted in (i.category, i.also) for i in run.infos.values())

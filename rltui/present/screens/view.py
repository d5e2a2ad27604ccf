"""What the user is looking at: the view state that screens are drawn from.

The app owns one :class:`View` and changes it when keys are pressed; every screen is a pure
function of the session, this state and a size.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rltui.catalogue.model import Category
from rltui.core.batch import RunKey
from rltui.present.kit.glyph import GlyphSet, glyph_set
from rltui.present.screens.keys import KEYS, Key

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


@dataclass(slots=True)
class View:
    """Everything about the screen that is not a fact of the runs."""

    screen: str = "list"
    """One of the screen ids of :mod:`rltui.present.screens.keys`."""
    run: RunKey | None = None
    tab: str = OVERVIEW
    came_from: str = ""
    """Tab that Esc leads back to from the metric screen, when it is another one."""
    cursor: dict[str, str] = field(default_factory=dict)
    """Tab id (or ``runs``) -> tag, finding id or run at the cursor: survives re-ordering."""
    moved: set[str] = field(default_factory=set)
    """Lists in which the user moved the cursor; until then it stays on what matters most."""
    offset: dict[str, int] = field(default_factory=dict)
    """Tab id (or ``runs``) -> first visible line of the scrolled part."""
    filter: str = ""
    editing: str = ""
    """"filter" or "command" while the bottom line takes text, else ""."""
    command: str = ""
    overlay: str = ""
    """"help", "explain" or "tail" while an overlay is open."""
    overlay_offset: int = 0
    overlay_follows: bool = False
    """Whether the overlay shows its end and goes on doing so when it grows."""
    order: str = "verdict"
    axis: str = "step"
    smooth: float = 0.0
    log_y: bool = False
    outliers: bool = False
    """True cuts the y range to the 1-99 % quantiles."""
    crosshair: int | None = None
    window: tuple[float, float] | None = None
    """Visible steps of the metric screen, None for the whole run."""
    paused: bool = False
    message: str = ""
    marker: str = "braille"
    keys: tuple[Key, ...] = KEYS
    """The table of keys, with the user's own."""

    @property
    def glyphs(self) -> GlyphSet:
        """The glyphs of the chosen marker."""
        return glyph_set(self.marker)

    @property
    def key_screen(self) -> str:
        """Id under which the key table knows the present screen."""
        if self.screen == "list" and self.tab == FINDINGS:
            return "findings"
        return self.screen

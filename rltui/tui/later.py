"""What screens import when it is first used, so that the first paint does not wait for it.

``later.MetricScreen`` imports the module of that class and returns the class. After the first
paint :func:`import_later` imports all of these modules, one after the other, before a key needs
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from textual.message_pump import MessagePump

#: Module -> its names that screens use; the modules that are needed soonest come first.
NAMES: dict[str, tuple[str, ...]] = {
    "rltui.facts.alarms": ("blind_words",),
    "rltui.pages.findings.findings_detail": ("check_table", "detail_lines"),
    "rltui.pages.metric.lines": ("explain_tag", "related"),
    "rltui.pages.run.rewards": ("earning_lines",),
    "rltui.pages.run.devices": ("device_lines",),
    "rltui.pages.metric.screen": ("MetricScreen",),
    "rltui.tui.overlay": ("ExplainScreen", "HelpScreen"),
    "rltui.tui.palette": ("PaletteScreen",),
    "rltui.pages.offers": ("finding_offers", "run_offers"),
    "rltui.pages.log": ("LogScreen",),
    "rltui.pages.comparison.screen": ("open_comparison",),
    "rltui.pages.hyperparameters": ("HyperparametersScreen",),
    "rltui.pages.samples": ("SampleScreen",),
    "rltui.pages.media": ("MediaScreen", "MediaView", "media_entries"),
    "rltui.tui.writing": ("default_name", "offered_names", "write_screen"),
    "rltui.output.brief": ("story_text",),
    "rltui.pages.html_report": ("html_report",),
    "rltui.output.text_report": ("event_words",),
    "rltui.output.json_document": ("event_message",),
    "rltui.health.muting": (),
    "rltui.formats.log_sign": ("bare",),
    "rltui.health.crash": (),
}
LATER = tuple(NAMES)
#: Pause before each import, seconds: a key waits for one at most.
_PAUSE_S = 0.05


def __getattr__(name: str) -> Any:
    module = next((m for m, names in NAMES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"no module of {__name__} has {name!r}")
    return getattr(import_module(module), name)


def import_later(owner: MessagePump, names: Sequence[str] = LATER) -> None:
    """Import modules on the loop of ``owner``, one after each pause."""

    def import_next() -> None:
        import_module(names[0])
        import_later(owner, names[1:])

    if names:
        owner.set_timer(_PAUSE_S, import_next)

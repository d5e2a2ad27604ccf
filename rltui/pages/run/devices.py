"""One line for each GPU, engine or node, above the metrics of Perf."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rltui.core.level import Level
from rltui.draw.line import (
    LEVEL_LOOK,
    MUTED,
    STRONG,
    TEXT,
    Block,
    Line,
    badge_span,
    fit_line,
    longest,
)
from rltui.draw.table import Cells, Table, heading
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.devices import Device, devices_of
from rltui.session import JudgedRun

_UNSURE = LEVEL_LOOK[Level.UNSURE]
#: Cells of a value with its unit, and of a name at most.
_VALUE = 9
_NAME = 24
#: Lines that the metrics below keep, and the share of a tab that devices get.
_KEPT = 8
_SHARE = 0.4


def device_lines(run: JudgedRun, view: View, width: int, height: int) -> Block:
    """The devices in a tab ``height`` lines high: the odd ones first where not all fit."""
    lines: Block = []
    for found in devices_of(run):
        room = min(height - _KEPT, int(height * _SHARE)) - len(lines)
        devices = found.devices
        room -= 3 + bool(found.words)
        if room < 1:
            continue
        if len(devices) > room:
            devices = _chosen(devices, room - 1)
        name = min(_NAME, longest([d.name for d in found.devices]) + 2)
        heads = [" ".join(head).strip() for head in found.heads]
        heads += ["behind"] * any(d.is_silent for d in found.devices)
        sizes = {"name": name - 1} | dict.fromkeys(heads, _VALUE)
        columns = Table(sizes, dict.fromkeys(heads, ">"))

        title = f"{found.kind[0].upper()}{found.kind[1:]}s"
        shown = [heading(title, width, view, str(len(found.devices)))]
        if found.words:
            badge = badge_span(Level.UNSURE, view.glyphs)
            shown.append([badge, (found.words, STRONG)])
        above: Cells = {head: (head, MUTED) for head in heads}
        shown.append(columns.line([("  ", TEXT)], {**above, "name": ("", TEXT)}))
        shown += [_device_line(d, heads, columns, view) for d in devices]
        rest = [d for d in found.devices if d not in devices]
        if rest:
            alike = "" if any(d.is_odd for d in rest) else ", like the others"
            shown.append([(f"  {len(rest)} more{alike}", MUTED)])
        lines += [*(fit_line(x, width) for x in shown), []]
    return lines


def _device_line(device: Device, heads: Sequence[str], columns: Table, view: View) -> Line:
    """Badge, name and values; where some device is silent how old its newest row is."""
    badge = badge_span(Level.UNSURE, view.glyphs) if device.is_odd else ("  ", TEXT)
    cells: Cells = {"name": (device.name, TEXT)}
    for n, (head, value) in enumerate(zip(heads, device.values, strict=False)):
        shown = numbers.short(value) if math.isfinite(value) else ""
        cells[head] = shown, _UNSURE if n in device.odd else STRONG
    if device.behind > 0:
        look = _UNSURE if device.is_silent else MUTED
        cells["behind"] = numbers.duration(device.behind), look
    return columns.line([badge], cells)


def _chosen(devices: tuple[Device, ...], count: int) -> tuple[Device, ...]:
    """The odd ones and the first of the others, in order."""
    chosen = sorted(devices, key=lambda d: not d.is_odd)[:count]
    return tuple(d for d in devices if d in chosen)

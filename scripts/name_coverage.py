"""Measures how well the catalogue knows the tags of logs.

    python -m scripts.name_coverage DIR...          a line a run, unknown tags below it, the sums
    python -m scripts.name_coverage --brief DIR...  the sums only
    python -m scripts.name_coverage --each DIR...   every directory below DIR is a log of its own
    python -m scripts.name_coverage --titles DIR... every tag with its category and title

A tag is unnamed when it lies in Other or its title is no more than the tag. One without a metric is
counted apart: its category and title are guessed from its words.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rltui.catalogue import Category, TagInfo
from rltui.core.errors import RltuiError
from rltui.session import Session

GENERIC = "generic"
_RAW = frozenset("/_|:=")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the catalogue makes of the tags of one run."""

    run: str
    framework: str
    algorithm: str | None
    infos: tuple[TagInfo, ...]

    @property
    def unknown(self) -> tuple[TagInfo, ...]:
        """The tags without a metric or a name."""
        return tuple(info for info in self.infos if faults(info))


def is_known(info: TagInfo) -> bool:
    """Whether a tag has a meaning: neither a guess nor a catch-all (``actor.other`` under a
    wildcard), which says no more than the section."""
    if info.metric is None or info.guessed:
        return False
    return not (info.metric.is_other and info.labels)


def faults(info: TagInfo) -> tuple[str, ...]:
    """What is missing from the meaning of a tag; empty for a known one."""
    out = []
    if not is_known(info):
        out.append("no metric")
    if info.category is Category.OTHER:
        out.append("other")
    if not info.title.strip() or (info.title == info.tag and _RAW & set(info.title)):
        out.append("untitled")
    return tuple(out)


def measure(logdir: Path) -> Iterator[Coverage]:
    """The runs below a directory or of a file, read in full."""
    session = Session([logdir])
    with suppress(RltuiError):
        session.read_all()
    for view in session.runs():
        if view.recognition is None:
            continue
        infos = tuple(info for _, info in sorted(view.infos.items()))
        known = view.recognition
        yield Coverage(view.key.name, known.framework, known.algorithm, infos)


def logs(paths: Iterable[Path], *, each: bool) -> Iterator[Path]:
    """The paths, or with ``each`` the directories directly below them."""
    for path in paths:
        yield from sorted(p for p in path.iterdir() if p.is_dir()) if each else [path]


def _sum(title: str, found: list[Coverage]) -> str:
    total = sum(len(c.infos) for c in found)
    parts = [f"{title:<22}{len(found):>5} runs {total:>6} tags"]
    for fault in ("other", "untitled", "no metric"):
        count = sum(fault in faults(info) for c in found for info in c.infos)
        parts.append(f"{count:>4} {fault} {100 * count / max(1, total):4.1f} %")
    unnamed = sum(bool({"other", "untitled"} & set(faults(i))) for c in found for i in c.infos)
    parts.append(f"{unnamed:>4} unnamed {100 * unnamed / max(1, total):4.1f} %")
    return "  ".join(parts)


def _print(path: Path, run: Coverage, *, titles: bool) -> None:
    share = 100 * len(run.unknown) / max(1, len(run.infos))
    framework = f"{run.framework} {run.algorithm or ''}".strip()
    print(f"{path.name} {run.run}: {framework}, {len(run.infos)} tags, {share:.0f} % to name")
    for info in run.infos if titles else run.unknown:
        metric = info.metric.key if info.metric else "-"
        why = ", ".join(faults(info))
        print(f"    {info.tag!r} {info.category.value} {metric} {info.title!r} {why}".rstrip())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--brief", action="store_true", help="the sums only")
    parser.add_argument("--each", action="store_true", help="DIR holds one log a directory")
    parser.add_argument("--titles", action="store_true", help="every tag, not only unknown ones")
    options = parser.parse_args(arguments)
    found: list[Coverage] = []
    for path in logs(options.paths, each=options.each):
        for run in measure(path):
            found.append(run)
            if not options.brief:
                _print(path, run, titles=options.titles)
    known = [c for c in found if c.framework != GENERIC]
    print(_sum("of a known framework", known))
    print(_sum("of unknown origin", [c for c in found if c.framework == GENERIC]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

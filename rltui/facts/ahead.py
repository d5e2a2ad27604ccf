"""What lies ahead: limits that vital signs are going to cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.core.level import Level, RunState
from rltui.facts import numbers
from rltui.facts.metric_rows import overview_sections
from rltui.facts.run_cache import RunCache
from rltui.session import RunView

if TYPE_CHECKING:
    from rltui.health.projection import Projection

_PROJECTIONS: RunCache[str, Projection | None] = RunCache()


def projection_of(run: RunView, tag: str) -> Projection | None:
    """When a tag without a finding crosses its limit; None for a run that has ended."""
    return _PROJECTIONS.get(run, tag, lambda: _projection(run, tag))


def _projection(run: RunView, tag: str) -> Projection | None:
    judgement = run.verdict.judgement(tag)
    unlimited = judgement.low is None and judgement.high is None
    if not _is_going(run) or unlimited or judgement.level >= Level.WATCH:
        return None
    from rltui.health.projection import project

    found = project(run.series(tag), judgement)
    total = run.progress.total_steps if run.progress else None
    return None if found and total and found.earliest > total else found


def _is_going(run: RunView) -> bool:
    return run.progress is not None and run.progress.state is RunState.LIVE


def projections(run: RunView) -> list[Projection]:
    """Those of the vital signs, the nearest first."""
    if not _is_going(run):
        return []
    tags = [r.tag for s in overview_sections(run) for r in s.rows]
    found = [p for p in (projection_of(run, t) for t in tags) if p is not None]
    return sorted(found, key=lambda p: p.earliest)


def steps_words(projection: Projection) -> str:
    """ "410 to 520"."""
    if projection.earliest == projection.latest:
        return numbers.step(projection.earliest)
    return f"{numbers.step(projection.earliest)} to {numbers.step(projection.latest)}"


def ahead_sentence(run: RunView, projection: Projection) -> str:
    """ "entropy reaches its floor of 0.125 at about step 410 to 520"."""
    info = run.infos[projection.tag]
    sign = 1.0 if info.sign >= 0 else -1.0
    word = "floor" if projection.falling == (sign > 0) else "limit"
    limit = numbers.plain(projection.limit * sign)
    return f"{info.title} reaches its {word} of {limit} at about step {steps_words(projection)}"

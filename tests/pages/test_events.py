"""What happened to a run, in order of steps."""

from __future__ import annotations

import re

from rltui.core.batch import LogTail
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.pages.findings.lines import event_lines
from rltui.session import RunView
from tests.builders import a_batch, a_source, steps
from tests.fakes import a_session, grpo_clock, grpo_tags

VIEW = View()


def a_run(**changes: object) -> RunView:
    tags = grpo_tags(60, 1, None)
    tags["actor/lr"] = [1e-6] * 39 + [1e-4] * 21
    tags["actor/ppo_kl"] = [0.001, 0.0012] * 19 + [0.001] + [3.0] * 21
    batch = a_batch(steps(1, tags), **changes)  # type: ignore[arg-type]
    (run,) = a_session(batch, clock=grpo_clock()).runs()
    return run


def text_of(run: RunView, width: int = 90, height: int = 20) -> list[str]:
    return [plain(x) for x in event_lines(run, VIEW, width, height)]


def test_causes_and_findings_stand_at_their_steps() -> None:
    lines = text_of(a_run())
    assert lines[0].startswith("What happened")
    at_40 = next(x for x in lines if re.match(r". 40 ", x))
    assert at_40.index("learning rate × 100") < at_40.index("KL blow-up")
    found = [int(m[1]) for x in lines if (m := re.match(r". (\d+) ", x))]
    assert found == sorted(found)


def test_the_end_of_a_run_that_crashed_comes_last() -> None:
    tail = LogTail(("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.",), 1)
    source = a_source("stdout.log", format="console", precision_rank=1)
    assert "CUDA out of memory" in text_of(a_run(source=source, tail=tail))[-1]

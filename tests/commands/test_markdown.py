"""snapshot as Markdown."""

from __future__ import annotations

from rltui.present.output.markdown import escaped, snapshot_markdown
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags


def test_findings_checks_and_vital_signs() -> None:
    text = snapshot_markdown(a_session(grpo_batch(60), clock=grpo_clock()))
    lines = text.splitlines()
    assert lines[0].startswith("## ✖ grpo")
    assert any(x.startswith("- ✖ entropy collapse, since") for x in lines)
    assert any(x.lstrip().startswith("- check first: KL to old policy") for x in lines)
    assert "| ✖ | entropy |" in text
    tables = [x for x in lines if x.startswith("|")]
    assert all(x.replace(r"\|", "").count("|") == 6 for x in tables)


def test_nothing_from_a_log_becomes_markup() -> None:
    nasty = "<b>[x](http://y)</b>|`#@z`"
    for sign in "<>[]|`#@":
        assert f"\\{sign}" in escaped(nasty)
    batch = a_batch(steps(1, {**grpo_tags(30), nasty: [1.0] * 30}), run="a|b")
    text = snapshot_markdown(a_session(batch))
    assert r"a\|b" in text
    assert "<b>" not in text

"""What looks odd is told where it goes the way that its words are about."""

from rltui.facts.oddities import odd_facts
from tests.builders import a_batch
from tests.fakes import a_session, grpo_tags
from tests.tables import cases


@cases(__file__, "words_of_one_direction")
def test_words_of_one_direction(tag: str, start: float, now: float, told: str) -> None:
    way = [start + (now - start) * n / 30 for n in range(30)]
    (run,) = a_session(a_batch(grpo_tags(60) | {tag: [start] * 10 + way + [now] * 20})).runs()
    assert told in dict(odd_facts(run)).get(tag, "")
    assert bool(told) or tag not in dict(odd_facts(run))

"""The words of counters, metrics and settings."""

import yaml

from rltui.core.installation import shipped
from rltui.formats.words import EPISODE, EPOCH, FINE, STEP, words


def test_every_word_has_a_reason_of_its_own_line() -> None:
    document = yaml.safe_load(shipped("formats", "data", "words.yaml").read_text(encoding="utf-8"))
    assert document.pop("schema") == 1
    nested = (*document.pop("counters").values(), *document.pop("samples").values())
    lists = [*nested, *document.values()]
    reasons = [(word, why) for words in lists for word, why in words.items()]
    assert len(reasons) > 300
    assert [word for word, why in reasons if not isinstance(why, str) or "\n" in why] == []
    assert [word for word, why in reasons if not why.strip()] == []


def test_a_counter_is_written_as_it_is_compared() -> None:
    known = words()
    assert all(name.isalnum() and name.islower() for name in known.counters)
    ranks = [known.counters[name] for name in (b"globalstep", b"iter", b"ep", b"epoch")]
    assert ranks == [FINE, STEP, EPISODE, EPOCH]
    assert known.step_keys[0] == "step"
    assert known.step_keys[-4:] == known.coarse_step_keys

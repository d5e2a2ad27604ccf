"""What settings say of a run, in the spelling of each framework."""

from rltui.catalogue import Catalogue
from rltui.catalogue.model import Recognition, Scope
from rltui.catalogue.settings import known_scope, scope_of
from rltui.health.rule import OF_RUN
from rltui.health.rules import load_rules
from tests.tables import cases

GSPO = Scope(loss="clipped", clip_level="sequence", clip_range="narrow")


def scope(
    catalogue: Catalogue, framework: str, algorithm: str = "GRPO", /, **given: object
) -> Scope:
    settings = {name.replace("__", "."): value for name, value in given.items()}
    kind = catalogue.scenarios["llm-rl"]
    return scope_of(settings, Recognition(framework, "", algorithm, kind, ()))


@cases(__file__, "sequences")
def test_sequences(framework: str, settings: dict[str, object], catalogue: Catalogue) -> None:
    assert scope(catalogue, framework, **settings) == GSPO


@cases(__file__, "what_is_said")
def test_what_is_said(
    framework: str, settings: dict[str, object], expected: dict[str, str], catalogue: Catalogue
) -> None:
    assert scope(catalogue, framework, **settings) == Scope(**expected)


def test_the_algorithm_by_option_says_it(catalogue: Catalogue) -> None:
    assert scope(catalogue, "generic", "GSPO") == Scope("clipped", "sequence")


def test_nothing_is_known_of_an_unknown_algorithm(catalogue: Catalogue) -> None:
    assert scope(catalogue, "generic", "") == Scope()


def test_the_document_decides_each_fact() -> None:
    assert tuple(known_scope()) == Scope._fields


def test_rules_ask_for_words_that_the_document_has() -> None:
    for when in (v.when for r in load_rules() for v in r.variants):
        for word in set(when.only) | set(when.never):
            if word in Scope._fields:
                fact = known_scope()[word]
                asked = {*when.only.get(word, ()), *when.never.get(word, ())}
                assert word in OF_RUN
                assert asked <= {*fact.words, *fact.ranges}

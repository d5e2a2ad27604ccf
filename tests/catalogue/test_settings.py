"""What settings say of a run, in the spelling of each framework."""

import pytest

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


@pytest.mark.parametrize(
    ("framework", "settings", "expected"),
    [
        ("trl", {"importance_sampling_level": "token", "loss_type": "dapo", "epsilon": 0.2,
                 "epsilon_high": 0.28}, Scope("clipped", "token", "usual")),
        ("trl", {"loss_type": "cispo", "epsilon_high": 5}, Scope("other", "", "usual")),
        ("generic", {"loss_type": "huber", "epsilon": 1e-8}, Scope("clipped")),
        ("verl", {"diffusion_loss__loss_mode": "flow_grpo"}, Scope("other")),
        ("verl", {"actor__clip_ratio_c": 3.0, "actor__kl_loss_type": "low_var_kl"},
         Scope("clipped", kl_estimator="k3")),
        ("verl", {"actor__clip_ratio_c": "1.5", "actor__kl_loss_type": "kl+"},
         Scope("clipped", kl_estimator="k1")),
        ("openrlhf", {"algo__kl__estimator": "k2", "actor__dual_clip": None},
         Scope("clipped", kl_estimator="k2")),
        ("verl", {"algorithm__rollout_correction__rollout_is": "token"},
         Scope("clipped", weight_level="token")),
        ("sb3", {"clip_range": "<function>"}, Scope("clipped")),
    ],
)  # fmt: skip
def test_what_is_said(
    framework: str, settings: dict[str, object], expected: Scope, catalogue: Catalogue
) -> None:
    assert scope(catalogue, framework, **settings) == expected


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

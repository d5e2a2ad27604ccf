"""Blind spots of a run, by its names."""

from rltui.facts.alarms import alarms, blind_words, names_of
from rltui.facts.oddities import lacking
from tests.builders import a_batch
from tests.fakes import a_session, grpo_tags


def test_blind_spots_are_found_once_for_the_same_names() -> None:
    session = a_session(a_batch(grpo_tags(60)))
    (run,) = session.runs()
    first = alarms(run)
    run.version += 1
    assert first
    assert alarms(run) is first


def test_runs_of_the_same_names_share_them() -> None:
    one, two = (a_session(a_batch(grpo_tags(60))).runs()[0] for _ in range(2))
    assert alarms(one) == alarms(two)
    two.rules = two.rules[:3]
    two.infos = dict(two.infos)
    assert alarms(two) != alarms(one)


def test_the_line_counts_what_cannot_be_detected() -> None:
    tags = {t: x for t, x in grpo_tags(60).items() if t != "actor/entropy"}
    (run,) = a_session(a_batch(tags)).runs()
    blind = [f for f in alarms(run) if f.lacking]
    count = f"{len(blind)} of {len(alarms(run))} failures"
    assert blind_words(run) == f"metrics missing to detect {count}"


def test_what_is_lacking_is_what_it_is_blind_for_and_nothing_that_it_cannot_have() -> None:
    cut = ("actor/entropy", "critic/vf_loss", "critic/vf_explained_var")
    (run,) = a_session(a_batch({t: x for t, x in grpo_tags(60).items() if t not in cut})).runs()
    blind = [f for f in alarms(run) if f.lacking]
    titles = lacking(run)
    assert "entropy" in titles
    assert "explained variance" not in titles, "GRPO has no critic"
    assert len(titles) <= len(blind)


def test_names_are_those_of_the_framework() -> None:
    (run,) = a_session(a_batch(grpo_tags(30))).runs()
    assert names_of(run, "entropy")[0] == "actor/entropy"
    assert names_of(run, "val.accuracy") == (), "templates stand for many"
    (own,) = a_session(a_batch({"my_loss": [1.0] * 30})).runs()
    assert names_of(own, "entropy") == ()


def test_a_run_without_a_verdict_has_no_line() -> None:
    (run,) = a_session(a_batch({"my_loss": [1.0] * 30})).runs()
    run.rules = ()
    assert blind_words(run) == ""

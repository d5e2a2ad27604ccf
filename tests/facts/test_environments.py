"""Each environment or data source by itself."""

import pytest

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.environments import environments_of
from rltui.facts.metrics import Section, tab_sections, tabs_of
from rltui.pages.run.metric_table import columns_of, section_entries
from rltui.session import JudgedRun
from tests.builders import a_batch, steps
from tests.fakes import a_session

AGENT = {"episode/reward/mean": 0.5, "episode/valid_action_ratio": 0.9, "num_turns/mean": 4.0}
EASY, HARD = "webshop_easy", "webshop_hard"
SUCCESS = {f"episode/{EASY}_success_rate": 0.8, f"episode/{HARD}_success_rate": 0.1}
REWARD = {f"env/{EASY}/reward_mean": 0.75, f"env/{HARD}/reward_mean": 0.25}
MATH = {
    f"train/math/{part}": value
    for part, value in (
        ("effective/all/reward/mean", 0.6), ("solved_none", 0.2), ("solved_some", 0.5),
        ("solved_all", 0.3), ("num_turns/mean", 3.0), ("metrics/format/mean", 1.0),
    )
}  # fmt: skip


def the_run(tags: dict[str, float], framework: str = "verl-agent") -> JudgedRun:
    known = {"off_policy_level/all/mean": 1.0} if framework == "prime-rl" else {}
    rows = {tag: [value] * 30 for tag, value in (tags | known).items()}
    (run,) = a_session(a_batch(steps(1, rows))).runs()
    assert run.recognition is not None
    return run


def agents(run: JudgedRun) -> dict[str, Section]:
    return {s.title: s for s in tab_sections(run, "turns")}


def test_success_and_reward_of_one_environment_stand_in_one_row() -> None:
    found = environments_of(the_run(AGENT | SUCCESS | REWARD))
    assert [(e.name, e.share, e.solved) for e in found] == [(EASY, 0.75, ()), (HARD, 0.25, ())]
    rows = agents(the_run(AGENT | SUCCESS | REWARD))["Do they succeed?"].rows
    assert [(r.title, r.value, r.cells) for r in rows] == [
        (EASY, 0.8, ("75 %", "")),
        (HARD, 0.1, ("25 %", "")),
    ]


@pytest.mark.parametrize("reward", [-0.2, float("nan")])
def test_no_share_is_told_of_a_sum_that_is_none(reward: float) -> None:
    odd = {f"env/{EASY}/reward_mean": reward}
    assert {e.share for e in environments_of(the_run(AGENT | SUCCESS | REWARD | odd))} == {None}


def test_a_share_counts_samples_where_each_has_its_number() -> None:
    tags = {
        f"env/{env}/{what}": value
        for env, number in (("a", 30.0), ("b", 10.0))
        for what, value in (("reward/total", 0.5), ("total_episodes", number))
    }
    run = the_run(tags | {"env/all/reward/total": 0.5, "env/all/turns_per_episode": 3.0})
    assert [(e.name, e.share) for e in environments_of(run)] == [("a", 0.75), ("b", 0.25)]


def test_what_stands_for_all_environments_is_none_and_groups_are_told_beside_the_name() -> None:
    run = the_run(MATH | {"train/agg/effective/all/reward/mean": 0.6}, "prime-rl")
    (one,) = environments_of(run)
    assert (one.name, one.tag, one.share) == ("math", "train/math/effective/all/reward/mean", None)
    assert one.solved == (0.2, 0.5, 0.3)
    sections = tab_sections(run, "turns")
    rows = [r for s in sections for r in s.rows]
    for width, head in ((92, "none/some/all"), (78, "0/some/all"), (69, "solved")):
        columns = columns_of(rows, width)
        lines = [
            plain(e.draw(False)[0]) for e in section_entries(run, sections, columns, View(), 0)
        ]
        assert [x.split()[-1] for x in lines if " math " in x] == ["%"]
        (heading,) = (x for x in lines if "Do they succeed?" in x)
        assert head in heading
        assert any("20/50/30 %" in x for x in lines)


def test_questions_have_the_rows_that_answer_them_and_only_where_agents_act() -> None:
    run = the_run(AGENT | SUCCESS | {"episode/success_rate": 0.4, "verl_tool/odd": 1.0})
    found = agents(run)
    assert list(found) == ["Do the agents act?", "Do they succeed?"]
    assert [r.tag for r in found["Do the agents act?"].rows] == [
        "num_turns/mean",
        "episode/valid_action_ratio",
        "verl_tool/odd",
    ]
    assert [r.title for r in found["Do they succeed?"].rows] == [EASY, HARD, "success rate"]
    silent = the_run({"episode/reward/mean": 0.5, "episode/success_rate": 0.4, **SUCCESS})
    assert "turns" not in {t.id for t in tabs_of(silent)}


def test_a_sampler_that_lags_has_a_tab_with_what_it_answers() -> None:
    tags = {"actor/pg_clipfrac": 0.1, "rollout_corr/k3_kl": 1e-3, "training/global_step": 1.0}
    tags |= {"training/rollout_probs_diff_mean": 1e-3, "checkpoint_engine/changed_ratio": 0.02}
    tags |= {"timing_s/agent_loop/num_preempted/mean": 0.0, "critic/score/mean": 0.5}
    run = the_run(tags)
    assert [(s.title, [r.tag for r in s.rows]) for s in tab_sections(run, "rollout")] == [
        (
            "Does the sampler have the new weights?",
            ["checkpoint_engine/changed_ratio", "rollout_corr/k3_kl"],
        ),
        (
            "Do sampler and trainer agree?",
            ["training/rollout_probs_diff_mean", "actor/pg_clipfrac"],
        ),
        ("Does the engine keep up?", ["timing_s/agent_loop/num_preempted/mean"]),
    ]

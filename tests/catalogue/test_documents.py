"""Shipped documents are valid; wrong ones are refused with line, column and the nearest word.

Every name of the documents resolves to the right metric, with unit, direction and range.
Names that are easily mistaken, each with its meaning and the reason to try it: meanings.csv.
"""

import csv
from pathlib import Path

import pytest

from rltui.catalogue import Catalogue, load_catalogue
from rltui.core.errors import DocumentError
from rltui.core.text import cell_width
from tests.tables import cases
from tests.test_documentation import load_script

HEAD = "id: mine\nentries:\n  - source: me\n    tags:\n"


def test_every_dialect_loads(catalogue: Catalogue) -> None:
    for name in catalogue.dialects:
        assert catalogue.resolver(name).size > 0


def test_titles_fit(catalogue: Catalogue) -> None:
    wide = [m.title for m in catalogue.metrics.values() if cell_width(m.title) > 19]
    fixed = [
        (name, title)
        for name in catalogue.dialects
        for e in catalogue.entries(name)
        if "{" not in (title := e.changes.get("title", "")) and cell_width(title) > 19
    ]
    assert (wide, fixed) == ([], [])


def test_every_metric_is_explained(catalogue: Catalogue) -> None:
    for metric in catalogue.metrics.values():
        assert metric.source, metric.key
        assert metric.meaning.endswith("."), metric.key
        if metric.derived:
            assert metric.derived.first in catalogue.metrics


def test_every_entry_has_a_source(catalogue: Catalogue) -> None:
    lost = [e for name in catalogue.dialects for e in catalogue.entries(name) if not e.source]
    assert lost == []


def test_every_metric_is_written_by_someone(catalogue: Catalogue) -> None:
    written = {e.metric.key for name in catalogue.dialects for e in catalogue.entries(name)}
    lost = {k for k, m in catalogue.metrics.items() if k not in written and not m.derived}
    # statistics of a family and held-out copies that come from the eval/ prefix
    lost = {k for k in lost if not k.startswith("val.") and not catalogue.metrics[k].stat}
    assert lost == set()


def test_metrics_that_are_read_together(catalogue: Catalogue) -> None:
    found = catalogue.relatives("kl.old_new")
    assert {"clipfrac.policy", "grad_norm.actor", "entropy"} <= found
    assert "kl.old_new" not in found
    assert found <= catalogue.metrics.keys()
    assert all("kl.old_new" in catalogue.relatives(key) for key in found)
    assert catalogue.relatives("progress.epoch") == frozenset()


def test_explain(catalogue: Catalogue) -> None:
    found = catalogue.explain("actor/entropy")
    assert found.metric is None
    assert dict(found.tags)["verl"].title == "entropy"
    where = dict(found.tags)["verl"].where
    assert where.startswith("rltui/catalogue/data/dialects/verl.yaml:")
    assert where.endswith(" actor/entropy")
    found = catalogue.explain("entropy")
    assert found.metric is not None
    assert ("verl", "actor/entropy") in {(f, p) for f, p, _ in found.patterns}
    assert catalogue.explain("entropyy").nearest == ("entropy",)


@cases(__file__, "broken_dialect")
def test_broken_dialect(text: str, line: int, column: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text.replace("HEAD\n", HEAD))
    with pytest.raises(DocumentError, match=words) as caught:
        load_catalogue((tmp_path,))
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.path.name == "mine.yaml"


def test_one_line_for_every_statistic(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        HEAD + "      '{part}/{stat}': {metric: 'reward.component.{stat}', title: '{part}'}\n"
    )
    resolver = load_catalogue((tmp_path,)).resolver("mine")
    found = [resolver.resolve(f"x/{stat}") for stat in ("mean", "avg", "max")]
    assert [info.metric and info.metric.stat for info in found] == ["mean", "mean", "max"]
    assert [info.title for info in found] == ["x", "x", "x, max"]
    assert found[2].family == "x/*"


def test_a_dialect_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "id: mine\ntitle: Mine\nfingerprint: {strong: [my/loss]}\nscenario: sft\n"
        "prefixes: {my/: training}\nalgorithms: [{name: SFT}]\n"
        "entries:\n  - {source: me, tags: {loss: {metric: loss.total, title: my loss}}}\n"
    )
    catalogue = load_catalogue((tmp_path,))
    found = catalogue.recognise(["my/loss", "train/reward", "rollout/ep_rew_mean"])
    assert (found.framework, found.title, found.algorithm) == ("mine", "Mine", "SFT")
    info = catalogue.resolver("mine").resolve("my/loss")
    assert info.title == "my loss"
    assert info.where == f"{tmp_path.resolve() / 'mine.yaml'}:8 loss"


def test_the_user_wins_over_a_shipped_dialect(tmp_path: Path) -> None:
    (tmp_path / "verl.yaml").write_text(
        "id: verl\nentries:\n  - source: me\n    tags:\n"
        "      actor/entropy: {metric: entropy, title: my entropy}\n"
        "      reward/{name}: {metric: reward.component.mean, title: '{name}'}\n".replace(
            "reward/{name}", "'reward/{name}'"
        )
    )
    catalogue = load_catalogue((tmp_path,))
    resolver = catalogue.resolver("verl")
    assert resolver.resolve("actor/entropy").title == "my entropy"
    assert resolver.resolve("actor/grad_norm").title == "gradient norm"
    assert resolver.resolve("reward/format").title == "format"
    assert catalogue.dialects["verl"].title == "verl"
    assert catalogue.recognise(["actor/pg_clipfrac_lower"]).framework == "verl"


def test_an_empty_value_of_the_user_replaces_the_shipped_one(tmp_path: Path) -> None:
    shipped = load_catalogue().dialects["torchtune"].head
    assert shipped.prefixes
    assert shipped.algorithms
    assert shipped.scenarios
    (tmp_path / "torchtune.yaml").write_text(
        "id: torchtune\nprefixes: {}\nalgorithms: []\nscenarios: []\n"
    )
    head = load_catalogue((tmp_path,)).dialects["torchtune"].head
    assert (head.prefixes, head.algorithms, head.scenarios) == ((), (), ())
    assert (head.title, head.fingerprint) == (shipped.title, shipped.fingerprint)


#: Every tag that the five documents name, and what it must mean.
with (Path(__file__).parent / "seeds.csv").open(encoding="utf-8", newline="") as file:
    _, *NAMES = csv.reader(file)
range_words = load_script("generate_docs").range_words


@pytest.mark.parametrize("framework", sorted({row[1] for row in NAMES}))
def test_names(framework: str, catalogue: Catalogue) -> None:
    for row in (row for row in NAMES if row[1] == framework):
        _, _, tag, *told = row
        info = catalogue.resolver(framework).resolve(tag)
        assert info.metric is not None, tag
        found = [info.metric.key, info.category.value, info.unit, info.direction.value]
        assert [*found, range_words(info.healthy)] == told, tag
        assert len(info.meaning) > 10, tag
        assert info.where, tag
        assert info.source, tag


def test_generic_never_misplaces_common_names(catalogue: Catalogue) -> None:
    """In an unknown framework the names of the glossaries keep their category where known."""
    for row in (row for row in NAMES if row[1] == "verl"):
        info = catalogue.resolver("generic").resolve(row[2])
        assert info.metric is None or info.category.value == row[4], row[2]


with (Path(__file__).parent / "meanings.csv").open(encoding="utf-8", newline="") as file:
    MEANINGS = list(csv.DictReader(file))


@pytest.mark.parametrize("framework", sorted({row["framework"] for row in MEANINGS}))
def test_a_name_means_this_metric_or_none(framework: str, catalogue: Catalogue) -> None:
    for row in (row for row in MEANINGS if row["framework"] == framework):
        choice = row["algorithm"] or None, row["scenario"] or None
        info = catalogue.resolver(framework, *choice).resolve(row["tag"])
        assert info.tag == row["tag"]
        assert (info.metric.key if info.metric else "") == row["metric"], row
        assert float(row["sign"] or info.sign) == info.sign, row
        assert row["category"] in ("", info.category.value), row


def test_a_pair_is_a_metric_of_training_and_its_other_side(catalogue: Catalogue) -> None:
    assert catalogue.relatives("dpo.accuracy", "pairs") == {"val.dpo.accuracy"}

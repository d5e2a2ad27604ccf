"""The names that sources log: how they are written, put together and given prefixes."""

from pathlib import Path

import pytest

from scripts import logged_names
from scripts.logged_names import LoggedNames, sources
from tests.tables import cases


def found(tmp_path: Path, source: str) -> set[str]:
    (tmp_path / "trainer.py").write_text(source)
    return set(LoggedNames(sources(tmp_path)).found())


@cases(__file__, "a_name")
def test_a_name(source: str, names: str, tmp_path: Path) -> None:
    assert found(tmp_path, source) == set(names.split())


@cases(__file__, "no_name", "source")
def test_no_name(source: str, tmp_path: Path) -> None:
    assert found(tmp_path, source) == set()


@cases(__file__, "a_prefix_that_is_put_before", "source")
def test_a_prefix_that_is_put_before(source: str, tmp_path: Path) -> None:
    assert found(tmp_path, source) == {"actor/loss"}


def test_a_name_that_is_logged_with_and_without_a_prefix(tmp_path: Path) -> None:
    source = (
        "metrics = {'loss': x}\nlog(metrics)\nlog({f'eval/{k}': v for k, v in metrics.items()})"
    )
    assert found(tmp_path, source) == {"loss", "eval/loss"}


def test_what_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helper.py").write_text("metrics['in/tests'] = x")
    (tmp_path / "broken.py").write_text("def")
    assert found(tmp_path, "metrics['a/b'] = x") == {"a/b"}


def test_the_names_without_a_meaning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("metrics['actor/pg_loss'] = metrics['zorp/zirp'] = x")
    assert logged_names.main([str(tmp_path), "--framework", "verl"]) == 0
    out, err = capsys.readouterr()
    assert out == "zorp/zirp\t-\ta.py\n"
    assert err == "2 names, 1 without a meaning\n"
    logged_names.main([str(tmp_path), "--framework", "verl", "--all"])
    assert "actor/pg_loss\tloss.policy\ta.py\n" in capsys.readouterr().out


def test_a_prefix_from_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("status['ppo_kl'] = status['zorp'] = x")
    logged_names.main([str(tmp_path), "--framework", "openrlhf", "--prefix", "train/"])
    assert capsys.readouterr().out == "zorp\t-\ta.py\n"

"""The names that sources log: how they are written, put together and given prefixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import logged_names
from scripts.logged_names import LoggedNames, sources


def found(tmp_path: Path, source: str) -> set[str]:
    (tmp_path / "trainer.py").write_text(source)
    return set(LoggedNames(sources(tmp_path)).found())


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("wandb.log({'loss': x, **{'lr': y}}, step=1)", "loss lr"),
        ("writer.add_scalar(f'train/{name}', x, 1)", "train/*"),
        ("tracker.record_metric('buffer/size', 3)", "buffer/size"),
        ("stats.scalar(dict(reward=x))", "reward"),
        ("metrics['a/b'] = x", "a/b"),
        ("self._metrics[mode]['reward_std'].append(x)", "reward_std"),
        ("self._metrics[mode][f'rewards/{f}/mean'].append(x)", "rewards/*/mean"),
        ("logs.setdefault('x', []).append(1)", "x"),
        ("stats.update({'x': 1})", "x"),
        ("def f():\n  return loss, {'kl/mean': x}", "kl/mean"),
        ("for s in ('mean', 'max'):\n  metrics['len/' + s] = x", "len/mean len/max"),
        ("for k, g in (('a', f), ('b', g)):\n  metrics['%s/%d' % (k, 1)] = x", "a/* b/*"),
        ("p = 'eval_' if test else ''\nmetrics[f'{p}acc'] = x", "acc eval_acc"),
        ("train(metrics={'a': 1})", "a"),
    ],
)
def test_a_name(source: str, names: str, tmp_path: Path) -> None:
    assert found(tmp_path, source) == set(names.split())


@pytest.mark.parametrize(
    "source",
    [
        "MODELS = {'org/model': 'other/model', 'org/b': ('x', 'y')}",
        "config['a/b'] = 'text'",
        "for k, v in models.items():\n  known[k] = v",
        "logger.log(10, 'a message')",
        "x = {'no_slash': y}",
    ],
)
def test_no_name(source: str, tmp_path: Path) -> None:
    assert found(tmp_path, source) == set()


@pytest.mark.parametrize(
    "source",
    [
        "metrics = {'loss': x}\nwandb.log({f'actor/{k}': v for k, v in metrics.items()})",
        "def reduce_metrics(m):\n  return {k: np.mean(v) for k, v in m.items()}\n"
        "def step():\n  metrics = {}\n  metrics['loss'] = [1]\n"
        "  metrics = reduce_metrics(metrics)\n"
        "  log({'actor/' + k: v for k, v in metrics.items()})",
        "def add_prefix(m, head):\n  return {f'{head}{k}': v for k, v in m.items()}\n"
        "def step():\n  log(add_prefix({'loss': x}, 'actor/'))",
        "class T:\n  def one(self):\n    return {'loss': x}\n"
        "  def all(self):\n    logger.log_metrics(self.one(), 1, prefix='actor')",
        "metrics = {'loss': x}\nfor k, v in metrics.items():\n  w.add_scalar(f'actor/{k}', v)",
    ],
)
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

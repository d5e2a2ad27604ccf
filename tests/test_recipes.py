"""What packagers get asks for the same as pyproject, in versions that are locked."""

import re

import pytest
import yaml

from rltui.version import __version__
from scripts import formula
from tests.places import ROOT
from tests.test_locks import LOCKS, entries, project

PACKAGING = ROOT / "packaging"
RESOURCE = re.compile(r'resource "(.+)" do\n +url "https://.*/[\w.]+-([\d.]+)\.tar\.gz"\n')


def test_the_conda_recipe_requires_the_same() -> None:
    recipe = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text("utf-8"))
    python, *others = recipe["requirements"]["run"]
    assert [o.replace(" ", "") for o in others] == project()["project"]["dependencies"]
    build = [r.replace(" ", "") for r in recipe["requirements"]["host"]]
    assert set(project()["build-system"]["requires"]) <= set(build)
    lowest = recipe["context"]["python_min"]
    assert python == "python >=${{ python_min }}"
    assert project()["project"]["requires-python"] == f">={lowest}"


@pytest.mark.skipif(not LOCKS.is_dir(), reason="an sdist has no locks of CI")
def test_the_formula_has_what_is_locked() -> None:
    """``make formula`` writes it."""
    text = formula.FORMULA.read_text("utf-8")
    resources = dict(RESOURCE.findall(text))
    locked = entries(LOCKS / "runtime.txt")
    for name, version in resources.items():
        assert version in {next(iter(pin.specifier)).version for pin in locked[name]}, name
    wanted = {re.match(r"[\w-]+", line)[0] for line in formula.requirements()}
    assert wanted <= set(resources)
    assert wanted | set(formula.LEFT_OUT) == {
        re.match(r"[\w-]+", line)[0] for line in project()["project"]["dependencies"]
    }


@pytest.mark.parametrize(
    "name", ["CITATION.cff", "packaging/conda/recipe.yaml", "packaging/homebrew/rltui.rb"]
)
def test_all_name_this_version_and_the_address_of_the_project(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    source = project()["project"]["urls"]["Source"]
    assert re.search(rf"\bv?{re.escape(__version__)}\b", text)
    assert set(re.findall(r"https://github\.com/[\w-]+/[\w-]+", text)) == {source}


def test_a_limit_of_a_version_has_a_reason_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    limits = re.findall(r'^(.*)\n +".*<.*",(.*)$', text, re.MULTILINE)
    assert limits
    assert [limit for limit in limits if "#" not in "".join(limit)] == []

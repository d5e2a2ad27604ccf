"""The picture of the packages leaves out what follows, and nothing else."""

from pathlib import Path

import pytest

from tests.test_documentation import load_script

pytest.importorskip("grimp")
package_map = load_script("package_map")


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    found = {"top": {"middle", "bottom"}, "middle": {"bottom"}, "bottom": set()}
    assert package_map.needed(found) == {"top": {"middle"}, "middle": {"bottom"}, "bottom": set()}


def test_a_circle_is_drawn_whole() -> None:
    found = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert package_map.needed(found) == found


def test_the_diagram_names_every_box() -> None:
    lines = package_map.diagram({"rltui.end": {"rltui.core"}, "rltui.core": set()})
    assert "    end_[end]" in lines
    assert "    end_ --> core_" in lines


def test_the_purpose_is_the_first_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""Reads ``x`` | y.\n\nMore."""\n')
    assert package_map.purpose("a", tmp_path) == "Reads `x` \\| y."

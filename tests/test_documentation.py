"""What the documents say is true: commands exist, the test command can be run."""

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.places import ROOT

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def shell_blocks() -> list[str]:
    return SHELL_BLOCK.findall(read(ROOT / "README.md"))


def verbs_of_the_parser() -> set[str]:
    """Sub-commands that the program knows."""
    from rltui.cli.program import build_parser

    return set(build_parser().commands)


def load_script(name: str) -> ModuleType:
    """A module of scripts/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    sys.path.append(str(ROOT / "scripts"))  # for modules beside it
    spec.loader.exec_module(module)
    return module


def test_the_test_command_is_marked() -> None:
    marked = re.findall(
        r"^<!-- test-command -->\n+```sh\n(.*?)^```$",
        read(ROOT / "README.md"),
        re.MULTILINE | re.DOTALL,
    )
    assert len(marked) == 1
    assert "pytest" in marked[0]
    assert "pip install" in marked[0]


def test_commands_stand_in_shell_blocks() -> None:
    lines = [line for block in shell_blocks() for line in block.splitlines()]
    assert any(line.startswith("rltui watch") for line in lines)
    assert any(line.startswith("rltui check") for line in lines)
    assert any(re.search(r"\brltui demo\b", line) for line in lines)
    assert not any(line.startswith("$ ") for line in lines), "a prompt cannot be copied"


def test_every_command_that_is_shown_exists_and_the_table_has_all() -> None:
    verbs = verbs_of_the_parser()
    page = read(ROOT / "docs" / "command-line.md")
    assert set(re.findall(r"^\| `rltui ([a-z-]+)", page, re.MULTILINE)) == verbs
    for block in (*shell_blocks(), *SHELL_BLOCK.findall(page)):
        for verb in re.findall(r"^rltui ([a-z]+)(?= |$)", block, re.MULTILINE):
            assert verb in verbs


def test_the_readme_names_what_a_user_needs() -> None:
    text = read(ROOT / "README.md")
    assert len(text.split()) <= 1500
    for word in ("config.example.yaml", "RLTUI_CONFIG", "Apache-2.0"):
        assert word in text, word


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_place_of_ours_is_named(path: Path) -> None:
    text = read(path)
    for word in ("/work/", "shared/"):
        assert word not in text, f"{word} in {path.name}"


LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")


def links(page: Path) -> list[tuple[Path, str]]:
    """Files within the project that a page links, and the headings there."""
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
    found = LINK.findall(text)
    return [((page.parent / target).resolve() if target else page, to) for target, to in found]


def anchors(page: Path) -> set[str]:
    """How the headings of a page are linked, as Markdown hosts make them."""
    headings = re.findall(r"^#+ (.*)$", read(page), re.MULTILINE)
    plain = (re.sub(r"[^\w -]", "", h.lower()) for h in headings)
    return {h.replace(" ", "-") for h in plain}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(path: Path) -> None:
    for target, heading in links(path):
        assert target.exists(), target
        assert not heading or heading in anchors(target), f"{target.name}#{heading}"


def test_every_page_is_reached_from_the_index() -> None:
    """One link from the index, which the README links."""
    index = ROOT / "docs" / "index.md"
    assert index in {target for target, _ in links(ROOT / "README.md")}
    reached = {target for target, _ in links(index)} | {index}
    assert set(DOCUMENTS) - reached == set()


def test_every_example_is_named_on_a_page() -> None:
    linked = {target for page in DOCUMENTS for target, _ in links(page)}
    examples = {p for p in (ROOT / "examples").rglob("*") if p.is_file() and p.suffix != ".pyc"}
    unnamed = {p for p in examples if p not in linked and p.parent not in linked}
    assert unnamed == set()


#: Directories whose paths are ours; hidden ones are not part of an sdist.
TOP = {"rltui", "tests", "docs", "themes", "scripts", "benchmarks"} | {
    path.name for path in (ROOT / ".ci", ROOT / ".github") if path.is_dir()
}
#: Names that stand for a file of the user.
OF_THE_USER = {"config.yaml"}


def named_paths(text: str) -> set[str]:
    """What stands in backticks and looks like a path or a file of this repository."""
    words = set(re.findall(r"`([\w./*-]+)`", text)) - OF_THE_USER
    return {
        w
        for w in words
        if ("/" in w and w.split("/")[0] in TOP) or re.search(r"^\w+\.(py|yaml)$", w)
    }


def exists(path: str) -> bool:
    """A name without a directory may be anywhere; NAME stands for any name."""
    pattern = path.replace("NAME", "*")
    if "/" in pattern:
        return any(ROOT.glob(pattern.rstrip("/")))
    return (ROOT / pattern).is_file() or any(
        any((ROOT / top).rglob(pattern)) for top in ("rltui", "tests", "scripts", "benchmarks")
    )


@pytest.mark.parametrize("name", ["docs/command-line.md", "CONTRIBUTING.md"])
def test_paths_that_are_named_exist(name: str) -> None:
    found = named_paths(read(ROOT / name))
    assert len(found) > (30 if name == "CONTRIBUTING.md" else 1)
    assert [path for path in sorted(found) if not exists(path)] == []


def test_paths_that_do_not_exist_are_found() -> None:
    text = "`rltui/gone.py`, `rltui/tui/`, `gone_too.py`, `tests/gone/NAME.py`, `themes/NAME.yaml`"
    assert {path for path in named_paths(text) if not exists(path)} == {
        "rltui/gone.py",
        "gone_too.py",
        "tests/gone/NAME.py",
    }


def test_the_changelog_has_the_version() -> None:
    from rltui.version import __version__

    text = read(ROOT / "CHANGELOG.md")
    assert "## [Unreleased]" in text
    assert f"## [{__version__}]" in text


#: Home-made words and figures of speech, in place of which the field has a term of its own.
HOME_MADE = re.compile(
    r"\bno (lasting )?drop\b|should move\b|finding, or the run|runs? in the band|chance alone"
    r"|without spread|hardly any answer|learned by heart|never moved|stands? still|\bno gain\b"
    r"|dominates the step|trainer (drift )?apart|much is masked|second clip acts|buys the rise"
    r"|under way|younger answers|\bblind to\b|never changed|numbers are not finite|far from the ref"
    r"|share of truncated re|a gain needs|for want of|prob(abilitie)?s differ|nothing to go back to"
    r"|leads to one|else quit|whole or not at all|processes that judge|would speak|extras name"
    r"|have in front|no reason to stop|nothing to compare",
    re.IGNORECASE,
)


def shown_strings(path: Path) -> list[str]:
    """The strings of a module, without its docstrings."""
    nodes = list(ast.walk(ast.parse(read(path))))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = (n for n in nodes if isinstance(n, ast.Constant) and id(n) not in alone)
    return [n.value for n in constants if isinstance(n.value, str)]


def test_no_home_made_word_is_shown() -> None:
    texts = {path: [" ".join(read(path).split())] for path in DOCUMENTS[3:] + DOCUMENTS[:2]}
    texts |= {path: shown_strings(path) for path in (ROOT / "rltui").rglob("*.py")}
    for path in (ROOT / "rltui").rglob("data/**/*.yaml"):
        lines = (line for line in read(path).splitlines() if not line.lstrip().startswith("#"))
        texts[path] = [" ".join(" ".join(lines).split())]
    found = [(p.name, w[0].lower()) for p in texts for t in texts[p] for w in HOME_MADE.finditer(t)]
    assert [word for word in found if word[0] != "stories.md"] == []  # what a brief said


def test_the_licence_is_whole() -> None:
    text = read(ROOT / "LICENSE")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


@pytest.mark.parametrize("script", ["generate_docs", "package_map"])
def test_generated_pages_are_up_to_date(script: str) -> None:
    """`make docs` rewrites them."""
    if script == "package_map":
        pytest.importorskip("grimp")
    module = load_script(script)
    for path, text in module.documents().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale: make docs"


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", read(ROOT / "Makefile"), re.MULTILINE))
    assert {"check", "test", "docs", "pictures", "bench", "lint", "format"} <= targets
    written = [page for page in DOCUMENTS if page.name != "stories.md"]  # what a brief says
    texts = [*written, ROOT / ".ci" / "run", ROOT / ".github" / "workflows" / "ci.yml"]
    for path in filter(Path.exists, texts):
        commands = r"`[^`]+`|^.*run: .*$|^ *phase .*$|^make .*$"
        code = "\n".join(re.findall(commands, read(path), re.MULTILINE))
        for words in re.findall(r"\bmake(?: --[a-z-]+)*((?: [a-z]+\b(?!=))+)", code):
            assert set(words.split()) <= targets, f"make{words} in {path.name}"


def test_the_page_on_the_command_line_has_every_exit_code() -> None:
    from rltui.commands.verbs import Exit

    page = read(ROOT / "docs" / "command-line.md")
    assert set(re.findall(r"^\| (\d+) \|", page, re.MULTILINE)) == {str(c.value) for c in Exit}

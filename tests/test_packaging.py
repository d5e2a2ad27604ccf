"""rltui works when it is installed: from the wheel, from the sdist, and editable.

Needs no network and builds nothing in the checkout: environments see the packages of the one
that runs the tests. Where a build cannot be had the tests skip, unless RLTUI_PACKAGING=require.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from email import message_from_bytes
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from rltui.cli.completion import completion_script
from rltui.cli.manual import manual_page
from rltui.cli.program import build_parser
from rltui.commands.verbs import NAMES, SHELLS
from rltui.version import __version__
from tests.places import FIXTURES, ROOT
from tests.tables import cases, table

REQUIRED = os.environ.get("RLTUI_PACKAGING") == "require"

#: Run where rltui is installed, outside the checkout: every shipped file is there and loads.
CHECK = """
import sys
from pathlib import Path
import rltui
from rltui.config import Config, load_config
from rltui.core.installation import shipped
from rltui.draw import theme
assert Path(rltui.__file__).is_relative_to(sys.argv[1]), rltui.__file__
assert load_config(shipped("config.example.yaml"), {}, {}) == Config()
names = sorted(path.stem for path in shipped("themes").glob("*.yaml"))
assert "dark" in names, names
for name in names:
    theme.load_theme(name)
print(len(names), "themes")
"""


def cannot(reason: str) -> None:
    """Skip visibly, or fail where packaging must be tested."""
    if REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


def run(command: Sequence[str | Path], cwd: Path) -> str:
    environ = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environ |= {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def source_copy(target: Path) -> Path:
    """The files that a clone would have, so that nothing is built into the checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".*", "dist", "__pycache__"))
        return target
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for module in ("build", "hatchling"):
        if find_spec(module) is None:
            cannot(f"{module} is not installed")
    return source_copy(tmp_path_factory.mktemp("source") / "rltui")


def build(kind: str, source: Path, target: Path) -> Path:
    run(
        [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "-o", target, source],
        source.parent,
    )
    (built,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", source, tmp_path_factory.mktemp("sdist"))


def installed(wheel: Path, base: Path) -> Path:
    """A fresh environment with ``wheel`` in it; dependencies come from the one that runs this."""
    target = base / "venv"
    outer = find_spec("pip") is not None
    if not outer and find_spec("ensurepip") is None:
        cannot("pip is not installed")
    venv.create(target, with_pip=not outer, symlinks=True)
    python = target / "bin" / "python"
    site = Path(
        run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], base).strip()
    )
    pip = [sys.executable, "-m", "pip", "--python", python] if outer else [python, "-m", "pip"]
    run([*pip, "install", "--quiet", "--no-deps", wheel], base)
    # After the installation, so that pip does not take rltui of the outer environment for it;
    # a .pth file ranks behind the environment's own packages.
    (site / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return target / "bin"


#: All that the core needs; docs/installation.md names them.
MINIMAL = ("pyyaml", "numpy", "orjson", "wcwidth")


@pytest.fixture(scope="module")
def minimal(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in an environment of the wheel and the minimal set alone, beside some logs."""
    place = tmp_path_factory.mktemp("minimal")
    bin_dir = installed(wheel, place)
    (outer,) = (place / "venv").rglob("outer.pth")
    outer.unlink()
    shipped = [file for name in MINIMAL for file in distribution(name).files or ()]
    if not shipped:
        cannot("the packages were not installed by pip, which lists their files")
    for top in {file.parts[0] for file in shipped} - {"..", "__pycache__"}:
        (outer.parent / top).symlink_to(distribution("numpy").locate_file(top))
    for name, target in {
        "logs": FIXTURES / "labelled/verl/grpo_kl_blowup",
        "settings.tfevents": FIXTURES / "tfevents/hparams.tfevents",
        "expect.yaml": ROOT / "examples/gate/expect.yaml",
    }.items():
        (place / name).symlink_to(target)
    return bin_dir / "rltui"


@cases(__file__, "minimal", ids=lambda _: None)
def test_every_verb_works_without_what_it_does_not_need(
    command: str, code: int, said: str, minimal: Path, tmp_path: Path
) -> None:
    """Or names the package in one line."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    running = subprocess.Popen(
        [minimal, *command.split()],
        cwd=minimal.parents[2],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        assert running.stderr is not None
        first = running.stderr.readline() if code == 143 else ""
        if code == 143:
            running.terminate()
        out, err = running.communicate(timeout=60)
    assert running.returncode == code, (out, err)
    assert re.match(said, (first + err) if code in (2, 143) else out), (out, err)
    assert "Traceback" not in err


def test_values_that_need_a_package_are_named_and_the_others_read(minimal: Path) -> None:
    found = run([minimal, "snapshot", "settings.tfevents", "--json"], minimal.parents[2])
    assert "hparam/best_reward" in found
    assert "a setting or rare kind of number needs tensorboard: " in found


def test_the_table_has_every_verb() -> None:
    assert {c["command"].split()[0] for c in table(__file__)["minimal"]} >= {*NAMES, "help"}


def check(bin_dir: Path, root: Path, cwd: Path) -> None:
    cwd.mkdir()
    assert run([bin_dir / "rltui", "--version"], cwd).strip() == f"rltui {__version__}"
    run([bin_dir / "python", "-c", CHECK, root], cwd)


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_the_same_source_gives_the_same_bytes(
    kind: str, request: pytest.FixtureRequest, source: Path, tmp_path: Path
) -> None:
    """In another directory, with other times and another umask."""
    other = shutil.copytree(source, tmp_path / "other place" / "tree")
    for path in (other, *other.rglob("*")):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (1.6e9, 1.6e9))
    first: Path = request.getfixturevalue(kind)
    again = build(kind, other, tmp_path / "dist")
    assert again.name == first.name
    assert again.read_bytes() == first.read_bytes()


def test_wheel_holds_what_the_program_needs(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("cli/__init__.py", "config.example.yaml", "themes/dark.yaml"):
        assert f"rltui/{name}" in names
    shipped = {p.relative_to(ROOT).as_posix() for p in (ROOT / "rltui").rglob("*.yaml")}
    assert shipped <= names
    assert not [n for n in names if n.startswith("tests") or "__pycache__" in n]


def test_wheel_holds_manual_page_and_completion_scripts(wheel: Path) -> None:
    share = f"rltui-{__version__}.data/data/share"
    with zipfile.ZipFile(wheel) as archive:
        page = archive.read(f"{share}/man/man1/rltui.1").decode()
        scripts = [
            archive.read(f"{share}/{name}").decode()
            for name in (
                "bash-completion/completions/rltui",
                "zsh/site-functions/_rltui",
                "fish/vendor_completions.d/rltui.fish",
            )
        ]
    assert page == manual_page()
    assert scripts == [completion_script(build_parser(), shell) for shell in SHELLS]


def test_an_index_shows_the_readme_with_links_that_lead_somewhere(wheel: Path, sdist: Path) -> None:
    """As it renders it: pictures and links are addresses, of files that there are."""
    pytest.importorskip("twine")
    markdown = pytest.importorskip("readme_renderer.markdown")
    with zipfile.ZipFile(wheel) as archive:
        written = archive.read(f"rltui-{__version__}.dist-info/METADATA")
    metadata = message_from_bytes(written)
    text = metadata.get_payload(decode=True)
    assert isinstance(text, bytes)
    shown = markdown.render(text.decode())
    assert shown
    found: list[str] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(value or "" for name, value in attrs if name in ("href", "src"))

    Links().feed(shown)
    home = dict(url.split(", ") for url in metadata.get_all("Project-URL", []))["Source"]
    ours = [re.sub(rf"^{home}/(?:raw|blob)/v{__version__}/", "", link) for link in found]
    paths = [link for link in ours if not link.startswith("https://")]
    assert {"docs/demo.gif", "docs/index.md", "SECURITY.md"} <= set(paths)
    assert [p for p in paths if not (ROOT / p.partition("#")[0]).exists()] == []
    run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist], ROOT)


def test_wheel_says_that_it_is_typed(wheel: Path) -> None:
    """PEP 561: without the marker type checkers ignore the annotations."""
    assert "rltui/py.typed" in zipfile.ZipFile(wheel).namelist()


def test_sdist_holds_what_a_packager_needs(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("LICENSE", "SECURITY.md", "CITATION.cff", "CHANGELOG.md", "hatch_build.py"):
        assert name in names
    assert {"tests/conftest.py", "themes/dark.yaml", "rltui/cli/__init__.py"} <= names


def test_installed_from_a_wheel_of_the_sdist(sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(tmp_path / "unpacked", filter="data")
        else:
            archive.extractall(tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    wheel = build("wheel", unpacked, tmp_path / "dist")
    check(installed(wheel, tmp_path), tmp_path / "venv", tmp_path / "elsewhere")


def test_editable_from_a_checkout(tmp_path: Path) -> None:
    """The environment that runs the tests, where the README's ``pip install -e`` made it."""
    try:
        made_by = json.loads(distribution("rltui").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        made_by = {}
    if not made_by.get("dir_info", {}).get("editable") or made_by["url"] != ROOT.as_uri():
        cannot("rltui is not installed from this checkout with pip install -e")
    check(Path(sys.executable).parent, ROOT, tmp_path / "elsewhere")

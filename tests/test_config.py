"""Settings: every source, its rank, and errors that say where."""

import dataclasses
import re
from pathlib import Path

import pytest

from rltui.config import (
    Config,
    MetricOverride,
    RulesConfig,
    ViewConfig,
    WatchConfig,
    config_dirs,
    load_config,
)
from rltui.core.errors import DocumentError, UsageError
from tests.places import ROOT
from tests.tables import cases

EXAMPLE = ROOT / "config.example.yaml"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(tmp_path: Path, text: str) -> Config:
    return load_config(write(tmp_path / "c.yaml", text), {}, {})


def fails(tmp_path: Path, text: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, text)
    return caught.value


def test_nothing_configured_is_the_defaults(tmp_path: Path) -> None:
    config = load_config(None, {"HOME": str(tmp_path)}, {})
    assert config == Config()
    assert config.path is None


def test_example_equals_the_defaults() -> None:
    assert load_config(EXAMPLE, {}, {}) == Config()


def test_example_names_every_key_with_a_comment() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    sections = {"view": ViewConfig, "watch": WatchConfig, "rules": RulesConfig}
    not_keys = {"path", "node", "category_node", "mute_node", "keys_node", "dirs", "metrics_node"}
    wanted = {f.name for f in dataclasses.fields(Config)} - not_keys
    found: dict[str, set[str]] = {}
    section = ""
    for above, line in zip(["", *lines], lines, strict=False):
        if match := re.match(r"( *)(\w+):", line):
            section = match[2] if not match[1] else section
            found.setdefault(section, set()).add(match[2])
            if match[1] or not line.endswith(":"):
                assert above.lstrip().startswith("#"), f"{line!r} has no comment above it"
    assert set(found) == wanted
    for name, record in sections.items():
        keys = {f.name for f in dataclasses.fields(record)} - not_keys
        assert found[name] - {name} == keys, name


def test_all_of_a_file_is_read(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """
view: {theme: light, marker: ascii, mouse: false, x_axis: wall, smooth: 0.6}
watch: {fast_s: 1, slow_s: 30, rescan_s: 60.5, inotify: false}
metrics:
  actor/entropy: {range: [0.3, null], title: Entropy, category: actor}
  kl.old_new: {range: [null, 0.1]}
rules:
  mute: [mfu_low]
  override: {entropy_collapse: {watch: 0.3, event: true}}
  add:
    - {id: mine, detector: above}
dialects: [more, /abs/dialects]
keys: {quit: q, help: [f1, "?"], pin: []}
""",
    )
    assert config.view == ViewConfig("light", "ascii", "off", "wall", 0.6)
    assert config.watch == WatchConfig(1.0, 30.0, 60.5, False)
    assert config.metrics == {
        "actor/entropy": MetricOverride(low=0.3, title="Entropy", category="actor"),
        "kl.old_new": MetricOverride(high=0.1),
    }
    assert config.rules.mute == ("mfu_low",)
    override = {rule: node.plain() for rule, node in config.rules.override.items()}
    assert override == {"entropy_collapse": {"watch": 0.3, "event": True}}
    assert [n.plain() for n in config.rules.add] == [{"id": "mine", "detector": "above"}]
    assert config.dialects == (tmp_path / "more", Path("/abs/dialects"))
    assert config.keys == {"quit": ("q",), "help": ("f1", "?"), "pin": ()}
    assert config.path == tmp_path / "c.yaml"
    category = config.metrics["actor/entropy"].category_node
    assert (category.line, category.column) == (5, 65)


@pytest.mark.parametrize("text", ["", "# nothing\n", "view:\n", "view: {}\nrules: {mute: }\n"])
def test_empty_places_are_defaults(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == Config()


@cases(__file__, "mistakes_are_reported_with_line_and_column")
def test_mistakes_are_reported_with_line_and_column(
    tmp_path: Path, text: str, where: str, says: str
) -> None:
    message = str(fails(tmp_path, text))
    assert message.startswith(f"{tmp_path / 'c.yaml'}:{where}: ")
    assert says in message


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    with pytest.raises(DocumentError, match="cannot be read"):
        load_config(missing, {}, {})
    with pytest.raises(UsageError, match=r"RLTUI_CONFIG: no such file"):
        load_config(None, {"RLTUI_CONFIG": str(missing)}, {})


def test_where_the_file_is_looked_for(tmp_path: Path) -> None:
    named = write(tmp_path / "named.yaml", "view: {theme: named}")
    variable = write(tmp_path / "variable.yaml", "view: {theme: variable}")
    write(tmp_path / "xdg/rltui/config.yaml", "view: {theme: xdg}")
    write(tmp_path / "home/.config/rltui/config.yaml", "view: {theme: home}")
    environ = {"HOME": str(tmp_path / "home")}
    assert load_config(None, environ, {}).view.theme == "home"
    environ["XDG_CONFIG_HOME"] = "relative/is/ignored"
    assert load_config(None, environ, {}).view.theme == "home"
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert load_config(None, environ, {}).view.theme == "xdg"
    environ["RLTUI_CONFIG"] = str(variable)
    assert load_config(None, environ, {}).view.theme == "variable"
    assert load_config(named, environ, {}).view.theme == "named"


def test_flags_beat_environment_beats_file(tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "view: {theme: file, smooth: 0.1, marker: block}")
    environ = {"RLTUI_VIEW_THEME": "environment", "RLTUI_VIEW_SMOOTH": "0.2"}
    flags = {"view.theme": "flag", "view.smooth": None}
    config = load_config(file, environ, flags)
    assert config.view == ViewConfig(theme="flag", smooth=0.2, marker="block")


def test_environment_of_every_type() -> None:
    environ = {
        "RLTUI_VIEW_MOUSE": "No",
        "RLTUI_VIEW_X_AXIS": "tokens",
        "RLTUI_WATCH_FAST_S": "1.5",
        "RLTUI_RULES_MUTE": "nan, stalled",
        "RLTUI_DIALECTS": "/a:/b",
        "RLTUI_VIEW_THEME": "",
        "RLTUI_PACKAGING": "require",
        "VIEW_THEME": "light",
        "HOME": "/nowhere",
    }
    config = load_config(None, environ, {})
    assert config.view == ViewConfig(mouse="off", x_axis="tokens")
    assert config.watch == WatchConfig(fast_s=1.5)
    assert config.rules.mute == ("nan", "stalled")
    assert config.dialects == (Path("/a"), Path("/b"))


@cases(__file__, "wrong_variables_are_named")
def test_wrong_variables_are_named(variable: str, value: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_config(None, {variable: value, "HOME": "/nowhere"}, {})
    assert str(caught.value).startswith(f"{variable}: ")
    assert says in str(caught.value)


def test_wrong_flags_are_named() -> None:
    with pytest.raises(UsageError, match=r"^--marker: unknown word 'dots'"):
        load_config(None, {"HOME": "/nowhere"}, {"view.marker": "dots"})
    with pytest.raises(UsageError, match="no such section"):
        load_config(None, {"HOME": "/nowhere"}, {"vew.marker": "ascii"})
    config = load_config(None, {"HOME": "/nowhere"}, {"view.mouse": False, "view.smooth": 0.5})
    assert config.view == ViewConfig(mouse="off", smooth=0.5)


def test_directories_lie_beside_the_file(tmp_path: Path) -> None:
    dirs = config_dirs(tmp_path / "c.yaml", {})
    assert dirs.base == tmp_path
    assert (dirs.dialects, dirs.rules, dirs.themes) == tuple(
        tmp_path / d for d in ("dialects", "rules", "themes")
    )
    assert config_dirs(None, {"XDG_CONFIG_HOME": "/x"}).base == Path("/x/rltui")
    assert config_dirs(None, {"RLTUI_CONFIG": "/y/z.yaml"}).themes == Path("/y/themes")


def test_directories_of_the_settings(tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "dialects: [more]")
    write(tmp_path / "rules/b.yaml", "")
    write(tmp_path / "rules/a.yaml", "")
    config = load_config(file, {}, {})
    assert config.dialect_dirs == (tmp_path / "dialects", tmp_path / "more")
    assert config.theme_dirs == (tmp_path / "themes",)
    assert config.rule_files == (tmp_path / "rules/a.yaml", tmp_path / "rules/b.yaml")
    assert Config().dialect_dirs == Config().theme_dirs == Config().rule_files == ()

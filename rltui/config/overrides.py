"""Settings of environment and command line, over those of the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rltui.config.hooks import HooksConfig
from rltui.config.records import MOUSE, Config, ViewConfig, WatchConfig
from rltui.config.setting import problem
from rltui.core.errors import UsageError
from rltui.core.yaml_document import nearest

_SECTIONS: dict[str, ViewConfig | WatchConfig | HooksConfig] = {
    "view": ViewConfig(),
    "watch": WatchConfig(),
    "hooks": HooksConfig(),
}
#: Sections with free names, which have no environment variable.
_FILE_ONLY = ("metrics", "keys")


def with_environment(config: Config, environ: Mapping[str, str]) -> Config:
    """``config`` changed by ``RLTUI_SECTION_KEY`` variables. Raises UsageError."""
    for variable in sorted(environ):
        section, _, key = variable.removeprefix("RLTUI_").lower().partition("_")
        text = environ[variable]
        if not variable.startswith("RLTUI_") or not text:
            continue
        if section in _SECTIONS:
            config = _assign(config, section, key, text, variable)
        elif variable == "RLTUI_RULES_MUTE":
            mute = tuple(word.strip() for word in text.split(",") if word.strip())
            config = replace(config, rules=replace(config.rules, mute=mute, mute_node=None))
        elif variable == "RLTUI_DIALECTS":
            config = replace(config, dialects=_paths(text))
        elif section == "rules" or section in _FILE_ONLY:
            raise UsageError(f"{variable}: section {section!r} can be set in the config file only")
    return config


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(part).expanduser() for part in text.split(os.pathsep) if part)


def with_flags(config: Config, flags: Mapping[str, object]) -> Config:
    """``config`` changed by flags: ``section.key`` -> value, None for not given. Raises
    UsageError."""
    for name, value in flags.items():
        if value is None:
            continue
        section, _, key = name.partition(".")
        if section not in _SECTIONS:
            raise UsageError(f"flag {name!r}: no such section{_did_you_mean(section, _SECTIONS)}")
        config = _assign(config, section, key, value, f"--{key.replace('_', '-')}")
    return config


def _assign(config: Config, section: str, key: str, value: object, origin: str) -> Config:
    known = {setting.name: setting for setting in fields(_SECTIONS[section])}
    if key not in known:
        raise UsageError(f"{origin}: unknown key {key!r}{_did_you_mean(key, known)}")
    setting = known[key]
    choices = setting.metadata["choices"]
    if choices == MOUSE and str(value).lower() in _WORDS:
        value = _switch(_WORDS[str(value).lower()])
    checked = _converted(value, setting.default, origin)
    if choices and checked not in choices:
        words = ", ".join(choices)
        hint = _did_you_mean(str(checked), choices)
        raise UsageError(f"{origin}: unknown word {checked!r}; one of {words}{hint}")
    if wrong := problem(checked, setting.metadata):
        raise UsageError(f"{origin}: {wrong}")
    changed: Any = {key: checked}
    changes: Any = {section: replace(getattr(config, section), **changed)}
    return replace(config, **changes)


_WORDS = {"1": True, "true": True, "yes": True, "on": True}
_WORDS |= {"0": False, "false": False, "no": False, "off": False}


def _switch(on: bool) -> str:
    return "on" if on else "off"


def _converted(value: object, default: object, origin: str) -> object:
    """``value`` (text, or already of the right type) as the type of ``default``."""
    text = str(value).strip()
    if isinstance(default, bool):
        if text.lower() not in _WORDS:
            raise UsageError(f"{origin}: expected true or false, found {text!r}")
        return _WORDS[text.lower()]
    if isinstance(default, tuple):
        return (text,)
    if isinstance(default, (int, float)):
        kind, name = (int, "a whole number") if isinstance(default, int) else (float, "a number")
        try:
            return kind(text)
        except ValueError:
            raise UsageError(f"{origin}: expected {name}, found {text!r}") from None
    return text


def _did_you_mean(word: str, options: Iterable[str]) -> str:
    hint = nearest(word, options)
    return f"; did you mean {hint!r}?" if hint else ""

"""JSON schemas (draft 2020-12) of the documents that rltui prints, and of its configuration.

Made of typed records: those of the package, ``document_forms.py`` beside this file, and the records
of the settings. ``scripts/generate_docs.py`` writes them to docs/schemas.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from document_forms import FIELDS, FORMS, INSTEAD  # beside this file

from rltui.catalogue.model import Category
from rltui.config.records import Config
from rltui.core.installation import shipped
from rltui.core.level import Level
from rltui.core.yaml_record import Keyed
from rltui.health.rule import Rule
from rltui.tui.keys import KEYS

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
_NAMES: Schema = {"type": "array", "items": {"type": "string"}}
_ONE_OR_MORE: Schema = {"anyOf": [{"type": "string"}, _NAMES]}


# -- what is said of fields ------------------------------------------------------------------


@cache
def _described(module: str) -> dict[str, tuple[str, list[str], dict[str, str]]]:
    """Class -> its docstring, its bases, and the docstrings below its fields."""
    found = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if not isinstance(node, ast.ClassDef):
            continue
        said = {}
        for field, after in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                text = getattr(after.value, "value", "")
                said[getattr(field.target, "id", "")] = " ".join(str(text).split())
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        text = " ".join((ast.get_docstring(node) or "").split())
        found[node.name] = (text, bases, said)
    return found


def _said(kind: type) -> tuple[str, dict[str, str]]:
    """The docstring of a record, or of its base, and those of its fields."""
    text, bases, said = _described(kind.__module__)[kind.__name__]
    for base in (getattr(sys.modules[kind.__module__], name, None) for name in bases):
        if is_typeddict(base):
            inherited, more = _said(base)
            text = text or inherited
            said = more | said
    return _json_words(text), {name: _json_words(words) for name, words in said.items()}


def _json_words(text: str) -> str:
    """A docstring in the words of JSON."""
    return text.replace("``", "`").replace("None", "null").replace("True", "true").strip()


# -- documents -------------------------------------------------------------------------------


class Definitions:
    """The records of one schema."""

    def __init__(self) -> None:
        self.found: dict[str, Schema] = {}

    def of(self, hint: Any) -> Schema:
        """Schema of a type."""
        hint = INSTEAD.get(hint, hint) if isinstance(hint, type) else hint
        origin, arguments = get_origin(hint), get_args(hint)
        if hint in _PLAIN:
            found: Schema = {"type": _PLAIN[hint]}
        elif hint in (Any, object):
            found = {}
        elif origin is Literal:
            found = {"enum": list(arguments)}
        elif origin in (Union, types.UnionType):
            found = self._one_of([self.of(x) for x in arguments])
        elif origin in (list, tuple):
            found = {"type": "array", "items": self.of(arguments[0])}
        elif origin in (dict, Mapping):
            found = {"type": "object", "additionalProperties": self.of(arguments[1])}
        elif issubclass(hint, Enum):
            found = {"enum": [x.word if isinstance(x, Level) else x.value for x in hint]}
        else:
            if hint.__name__ not in self.found:
                self.found[hint.__name__] = {}  # it may hold itself
                self.found[hint.__name__] = self.record(hint)
            found = {"$ref": f"#/$defs/{hint.__name__}"}
        return found

    @staticmethod
    def _one_of(parts: list[Schema]) -> Schema:
        if all(part.keys() == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        if {"type": "null"} in parts and len(parts) == 2 and "enum" in parts[0]:
            return {"enum": [*parts[0]["enum"], None]}
        return {"anyOf": parts}

    def record(self, kind: Any) -> Schema:
        """Schema of a mapping with the fields of a record."""
        text, said = _said(kind)
        hints = get_type_hints(kind)
        needed = set(getattr(kind, "__required_keys__", hints))
        properties = {}
        for name, hint in hints.items():
            known = (x for (k, n), x in FIELDS.items() if n == name and _adds_to(kind, k))
            hint = next(known, hint)
            if name not in said:
                raise ValueError(f"{kind.__name__}.{name}: the docstring below it is missing")
            properties[name] = self.of(hint) | {"description": said[name]}
        return {
            "description": text,
            "type": "object",
            "properties": properties,
            "required": [name for name in hints if name in needed],
        }


def _adds_to(kind: Any, base: Any) -> bool:
    """Whether a form is another one, or adds to it."""
    module = sys.modules[kind.__module__]
    bases = (getattr(module, name, None) for name in _described(kind.__module__)[kind.__name__][1])
    return kind is base or any(_adds_to(b, base) for b in bases if is_typeddict(b))


def document_schema(name: str) -> Schema:
    """Schema of a document."""
    known = Definitions()
    form = FORMS[name]
    if get_origin(form) in (Union, types.UnionType):
        kinds = get_args(form)
        root: Schema = {"description": "", "type": "object", "anyOf": [known.of(k) for k in kinds]}
        root["description"] = " Or: ".join(_said(kind)[0] for kind in kinds)
    else:
        kinds = (form,)
        root = known.record(form)
    title = f"rltui.{name}/1"
    if name.startswith("mcp-"):
        title = f"answer of the tool {name.removeprefix('mcp-')} of rltui mcp"
    head = {"$schema": DRAFT, "title": title}
    return {**head, **root, "$defs": dict(sorted(known.found.items()))}


# -- configuration ---------------------------------------------------------------------------


def _words_of(read: Callable[..., Any]) -> Schema:
    """Schema of what a reader of settings takes that was made with words or limits."""
    given = inspect.getclosurevars(read).nonlocals
    if "some" in given:
        return {"type": "array", "items": {"enum": list(given["some"])}}
    if "words" in given:
        # YAML 1.1 takes the words on and off for true and false
        truths = [word == "on" for word in given["words"] if word in ("on", "off")]
        return {"enum": [*given["words"], *truths]}
    if "low" in given:
        kind = "integer" if isinstance(given["low"], int) else "number"
        return {"type": kind, "minimum": given["low"], "maximum": given["high"]}
    return {}


#: Reader of settings -> what it takes.
_READERS: dict[str, Schema] = {
    "_filled": {"type": "string", "minLength": 1},
    "_all_filled": {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string", "minLength": 1}},
        ]
    },
    "_mappings": {"type": "object", "additionalProperties": {"type": "object"}},
    "_listed": {"type": "array", "items": {"type": "object"}},
    "_beside": _ONE_OR_MORE,
}
_READERS["_command"] = _READERS["_all_filled"]
#: Key of the document -> what its reader takes, where that is no function of its own.
_KEYS: dict[str, Schema] = {
    "range": {
        "type": "array",
        "items": {"type": ["number", "null"]},
        "minItems": 2,
        "maxItems": 2,
        "description": "Healthy range, [low, high]; null leaves a side open.",
    }
}
#: Fields of records that no key of the document holds.
_MADE = {(Config, "path"), (Config, "dirs")}


def _setting(hint: Any, key: str) -> Schema:
    """Schema of a setting, by its reader and type."""
    marked = hint.__metadata__[0] if get_origin(hint) is Annotated else Keyed()
    plain = hint.__origin__ if get_origin(hint) is Annotated else hint
    if key in _KEYS:
        return dict(_KEYS[key])
    if marked.read is not None:
        known = _READERS.get(marked.read.__name__) or _words_of(marked.read)
        if known:
            return dict(known)
    if get_origin(plain) is tuple:
        return dict(_ONE_OR_MORE)
    if get_origin(plain) is Mapping:
        return {"type": "object", "additionalProperties": _setting(get_args(plain)[1], "")}
    if get_origin(plain) in (Union, types.UnionType):  # None is what it has without the key
        return _setting(get_args(plain)[0], key)
    return {"type": _PLAIN[plain]} if plain in _PLAIN else _settings(plain)


def _settings(kind: Any) -> Schema:
    """Schema of a section."""
    text, said = _said(kind)
    defaults = {f.name: f.default for f in fields(kind)} if is_dataclass(kind) else {}
    properties: dict[str, Schema] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        marked = hint.__metadata__[0] if get_origin(hint) is Annotated else Keyed()
        key = marked.key or name
        if key in properties or (kind, name) in _MADE:
            continue
        found = _setting(hint, key)
        default = defaults.get(name, MISSING)
        default = list(default) if isinstance(default, tuple) else default
        if isinstance(default, str | int | float | list):
            found["default"] = default
        words = (
            {}
            if "description" in found and name not in said
            else {"description": said.get(name, "")}
        )
        properties[key] = found | ({} if key in _KEYS else words)
    return {
        "description": text,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def config_schema(rules: tuple[Rule, ...]) -> Schema:
    """Schema of the configuration, for editors; they offer the names of what is shipped."""
    schema = _settings(Config)
    parts = schema["properties"]
    themes = sorted(path.stem for path in shipped("themes").glob("*.yaml"))
    parts["view"]["properties"]["theme"]["examples"] = themes
    parts["metrics"]["additionalProperties"]["properties"]["category"] = {
        "enum": [category.value for category in Category],
        "description": "Tab on which it is shown.",
    }
    titles = {rule.id: rule.title for rule in rules}
    section = parts["rules"]["properties"]
    named = {"anyOf": [{"enum": list(titles)}, {"type": "string"}]}  # or a rule of the user
    section["mute"] = {
        "anyOf": [*named["anyOf"], {"type": "array", "items": named}],
        "description": section["mute"]["description"],
    }
    section["override"]["properties"] = {
        name: {"type": "object", "description": title} for name, title in titles.items()
    }
    words = {key.action: key.words for key in KEYS}
    parts["keys"] = {
        "type": "object",
        "description": parts["keys"]["description"],
        "properties": {name: _ONE_OR_MORE | {"description": text} for name, text in words.items()},
        "additionalProperties": False,
    }
    schema["description"] = "Settings: the file that `--config` or `RLTUI_CONFIG` names."
    return {"$schema": DRAFT, "title": "rltui configuration", **schema}


def schemas(rules: tuple[Rule, ...]) -> dict[str, Schema]:
    """All schemas by name."""
    found = {name: document_schema(name) for name in FORMS}
    return dict(sorted({**found, "config": config_schema(rules)}.items()))


def schema_files(folder: Path, rules: tuple[Rule, ...]) -> dict[Path, str]:
    """Path -> text of each schema below ``folder``."""
    return {
        folder / f"{name}.json": json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        for name, schema in schemas(rules).items()
    }

"""Changes values in the text of a YAML document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def with_entry(text: str, keys: Sequence[str], value: object) -> str:
    """``text`` with a value at a path of keys of its YAML; all else stands, comments too. Needs to
    be parsed again: what is written in a rare way may not come out well."""
    import yaml  # a help needs none

    found: list[Any] = [yaml.compose(text, yaml.SafeLoader)]
    for name in keys:
        pairs = found[-1].value if isinstance(found[-1], yaml.MappingNode) else ()
        found += [inner for key, inner in pairs if key.value == name]
    for name in reversed(keys[len(found) - 1 :]):
        value = {name: value}
    flow = yaml.safe_dump(value, default_flow_style=True, width=math.inf).split("\n")[0]
    node = last = found[-1]
    if node is found[0]:
        return f"{text.rstrip()}\n{flow[1:-1]}\n".lstrip("\n")
    if isinstance(node, yaml.MappingNode) and node.value:
        at = node.value[0][0].start_mark
        gap = ", " if node.flow_style else "\n" + " " * at.column
        return f"{text[: at.index]}{flow[1:-1]}{gap}{text[at.index :]}"
    while isinstance(last, yaml.SequenceNode) and not last.flow_style:
        last = last.value[-1]  # a block ends behind the comments below it
    return f"{text[: node.start_mark.index].rstrip()} {flow}{text[last.end_mark.index :]}"

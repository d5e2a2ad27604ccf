"""Completion scripts, written by shtab. They are static: a key press starts no Python."""

from __future__ import annotations

import re
from typing import Any

import shtab

from rltui.core.installation import shipped

#: Options whose values are names of documents, and those whose values are ids in documents.
_NAMED = {"theme": ("themes",), "framework": ("catalogue", "data", "dialects")}
_LISTED = {"scenario": ("demo", "data"), "name": ("health", "data")}

# What shtab cannot do. Its functions and variables are those that begin with _shtab.

#: Replaced in a script, as regular expressions.
_REPLACED = {
    "zsh": (
        (r'"\(\*\)::?', '"*:'),  # after an operand that may repeat, another is completed
        (r'(--[\w-]+)(\}"|)(\[.*\]:)', r"\1=\2\3"),  # a value may follow an equal sign
        (r"== eval \]\]", "== (eval|file) ]]"),  # `source` works, too
    ),
    # fish itself completes paths: it knows quotes, and paths after an equal sign
    "fish": ((r'-x?ka "\(__fish_complete_path .*\)"', "-rF"),),
}

#: A path without a command means watch.
_ZSH = """
functions[_rltui_commands]=$functions[_shtab_rltui_commands]
_shtab_rltui_commands() {
    _alternative 'commands:command:_rltui_commands' 'files:LOGDIR:_files'
}
functions[_rltui_main]=$functions[_shtab_rltui]
_shtab_rltui() {
    local -i at=2
    while [[ $words[at] == (-*|auto|always|never) ]]; do at+=1; done
    if (( at < CURRENT && ! ${+parameters[_shtab_rltui_${words[at]//-/_}_options]} )); then
        words[at]=(watch "$words[at]")
        CURRENT+=1
    fi
    _rltui_main
}"""

#: Added to a script: a path without a command means watch; bash parts words at equal signs.
_ADDED = {
    "bash": """
_rltui() {
    local line word words=("$COMP_WORDS") command=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
            =) continue ;;
            -*|auto|always|never) ;;
            *)
                [[ $command || " ${_shtab_rltui_subparsers[*]} " == *" $word "* ]] || words+=(watch)
                command=$word ;;
        esac
        words+=("$word")
    done
    word=${COMP_WORDS[COMP_CWORD]}
    COMP_WORDS=("${words[@]}" "${word#=}")
    COMP_CWORD=${#words[@]}
    _shtab_rltui
    [[ $command || ${COMPREPLY[*]} ]] || compopt -o default 2>/dev/null
}
complete -o bashdefault -F _rltui rltui
""",
    "fish": "complete -c rltui -n _shtab_rltui_using -F\n",
}


def completion_script(parser: Any, shell: str) -> str:
    """The script that completes ``rltui`` in ``shell``: bash, zsh or fish.

    ``parser`` is that of ``build_parser``. Values that can be known become choices of its options,
    so it can parse no longer.
    """
    for action in (a for p in (parser, *parser.commands.values()) for a in p._actions):
        if action.metavar in ("FILE", "LOGDIR"):
            action.complete = shtab.FILE
        elif action.choices is None:
            action.choices = known_values(action.dest)
    script = shtab.complete(parser, shell, preamble=_ZSH if shell == "zsh" else "")
    for found, plain in _REPLACED.get(shell, ()):
        script = re.sub(found, plain, script)

    return script + _ADDED.get(shell, "")


def known_values(name: str) -> list[str]:
    """The values of an option of this name, if they are names of what is shipped.

    The files are searched as text: when rltui is built, there is nothing that could read them.
    """
    if name in _NAMED:
        return sorted(path.stem for path in shipped(*_NAMED[name]).glob("*.yaml"))
    found: list[str] = []
    if name in _LISTED:
        for path in shipped(*_LISTED[name]).rglob("*.yaml"):
            text = path.read_text("utf-8")
            found += re.findall(r"^(?:- |  )?id: ([\w-]+)", text, re.MULTILINE)
    if name == "name":  # a statistic of a metric is a name of its own
        text = shipped("catalogue", "data", "metrics.yaml").read_text("utf-8")
        entry = r"^ {6}([\w.]+): \{(?:.*\bstats: \[(.*?)\])?"
        for metric, stats in re.findall(entry, text, re.MULTILINE):
            found += [f"{metric}.{s}" if s else metric for s in stats.split(", ")]
    return sorted(set(found))

"""Completion scripts of bash, zsh and fish. They are static: a key press starts no Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from rltui.commands.verbs import HELP_VERB, MAIN, VERBS, Option
from rltui.core.installation import shipped

_COMMANDS = (*VERBS, HELP_VERB)


def completion_script(shell: str) -> str:
    """The script that completes ``rltui`` in ``shell``: bash, zsh or fish."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


# -- values that can be known ----------------------------------------------------------------


def known_values(option: Option) -> tuple[str, ...]:
    """The values to offer: its choices, or what is shipped of what users may add to.

    The files are searched as text: when rltui is built, there is nothing that could read them.
    """
    names: list[str] = []
    if option.dest in _FOLDERS:
        names = [path.stem for path in shipped(*_FOLDERS[option.dest]).glob("*.yaml")]
    elif option.dest == "scenario":
        text = _read("demo", "data", "scenarios.yaml")
        return tuple(re.findall(r"^- id: ([\w-]+)", text, re.MULTILINE))
    elif option.dest == "name":
        # metrics, rules and symptoms; statistics of a metric are names of their own
        metrics = _read("catalogue", "data", "metrics.yaml")
        found = re.findall(r"^ {6}([\w.]+): \{(?:.*\bstats: \[(.*?)\])?", metrics, re.MULTILINE)
        names = [f"{key}.{s}" if s else key for key, stats in found for s in stats.split(", ")]
        data = shipped("health", "data")
        for path in (*(data / f"{x}.yaml" for x in _RULED), *(data / "rules").glob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            names += re.findall(r"^(?:- |  )?id: (\w+)", text, re.MULTILINE)
        names = list(set(names))
    return option.choices or tuple(sorted(names))


#: Documents with ids beside the rules.
_RULED = "diagnoses", "stalled", "own_range"
#: Options whose values are the names of documents.
_FOLDERS = {"theme": ("themes",), "framework": ("catalogue", "data", "dialects")}


def _read(*parts: str) -> str:
    return shipped(*parts).read_text(encoding="utf-8")


# -- bash ----------------------------------------------------------------------------------

_BASH = """\
# bash completion of rltui: eval "$(rltui --print-completion bash)"
_rltui() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command= word= words=
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
            -*|=|%(skipped)s) ;;
            %(commands)s) command=$word; break ;;
            *) command=watch; break ;;
        esac
    done
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case $command:$previous in
%(values)s
    esac
    case $command:$current in
%(options)s
        :*) words='%(words)s' ;;
%(operands)s
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -o default -F _rltui rltui
"""


def _bash() -> str:
    names = [c.name for c in _COMMANDS]
    taken = {"": MAIN, **{c.name: tuple(c.options) for c in _COMMANDS}}
    options = (
        f"        {name}:-*) words='{' '.join(n for o in known for n in o.names)}' ;;"
        for name, known in taken.items()
    )
    offered = {c.name: tuple(map(known_values, c.operands)) for c in _COMMANDS}
    operands = (
        f"        {name}:*) words='{' '.join(words)}' ;;"
        for name, known in offered.items()
        for words in filter(None, known)
    )

    return _BASH % {
        "skipped": "|".join(c for o in MAIN for c in o.choices),
        "commands": "|".join(names),
        "values": "\n".join(_bash_values(taken)),
        "options": "\n".join(options),
        "words": " ".join(names),
        "operands": "\n".join(operands),
    }


def _bash_values(taken: Mapping[str, Iterable[Option]]) -> Iterator[str]:
    """Yield the actions that complete values, each with the options that take them; without a word
    readline completes paths."""
    values: dict[str, list[str]] = {}
    for name, known in taken.items():
        for option in (o for o in known if o.value):
            if words := " ".join(known_values(option)):
                action = f"COMPREPLY=($(compgen -W '{words}' -- \"$current\")); return"
            elif option.is_path:
                action = "return"
            else:
                action = "compopt +o bashdefault +o default 2>/dev/null; return"
            values.setdefault(action, []).extend(f"{name}:{n}" for n in option.names)

    for action, where in values.items():
        yield f"        {'|'.join(where)})\n            {action} ;;"


# -- zsh -----------------------------------------------------------------------------------

_ZSH = """\
#compdef rltui
# zsh completion of rltui: as _rltui in a directory of $fpath, or after compinit
# eval "$(rltui --print-completion zsh)"
_rltui() {
    local curcontext="$curcontext" state state_descr line
    local -A opt_args
    local -a commands
    commands=(
%(commands)s
    )
    _arguments -C \\
%(main)s
        '1: :->command' '*:: :->rest' && return
    case $state in
        command)
            _alternative 'commands:command:{_describe command commands}' 'files:LOGDIR:_files' ;;
        rest)
            case $words[1] in
%(cases)s
                *) _files ;;
            esac ;;
    esac
}
if [[ $funcstack[1] == _rltui ]]; then
    _rltui "$@"
else
    compdef _rltui rltui
fi
"""


def _zsh() -> str:
    cases = []
    for command in _COMMANDS:
        specs = [s for o in command.options for s in _zsh_option(o)]
        for number, operand in enumerate(command.operands, 1):
            place = ("*" if operand.many else str(number)) + ":" * operand.optional
            specs.append(_quoted(place + _zsh_value(operand)))
        lines = " \\\n".join(f"                        {s}" for s in specs)
        cases.append(
            f"                {command.name})\n                    _arguments \\\n{lines} ;;"
        )
    commands = (_quoted(f"{c.name}:{c.summary}") for c in _COMMANDS)

    return _ZSH % {
        "commands": "\n".join(f"        {c}" for c in commands),
        "main": "\n".join(f"        {s} \\" for o in MAIN for s in _zsh_option(o)),
        "cases": "\n".join(cases),
    }


def _zsh_option(option: Option) -> list[str]:
    """A spec for each name; the names of one option exclude each other unless it may repeat."""
    about = re.sub(r"([\[\]\\])", r"\\\1", option.help)
    others = "*" if option.many else f"({' '.join(option.names)})"
    specs = []
    for name in option.names:
        joint = "" if not option.value else "=" if name.startswith("--") else "+"
        specs.append(_quoted(f"{others}{name}{joint}[{about}]{_zsh_value(option)}"))
    return specs


def _zsh_value(option: Option) -> str:
    if not option.value:
        return ""
    known = " ".join(known_values(option))
    how = f"({known})" if known else "_files" * option.is_path
    return f":{option.value}:{how}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish ----------------------------------------------------------------------------------


_TAB = "\\t"


def _fish() -> str:
    lines = [
        "# fish completion of rltui: rltui --print-completion fish | source",
        *(_fish_line("__fish_use_subcommand", o) for o in MAIN),
    ]
    for command in _COMMANDS:
        about = _fish_quoted(command.summary)
        lines.append(f"complete -c rltui -n __fish_use_subcommand -a {command.name} -d {about}")
    for command in _COMMANDS:
        where = f"'__fish_seen_subcommand_from {command.name}'"
        lines += [_fish_line(where, o) for o in command.options]
        lines += [_fish_line(where, o) for o in command.operands if known_values(o)]
        if not any(o.is_path for o in command.operands):
            lines.append(f"complete -c rltui -n {where} -f")

    return "\n".join(lines) + "\n"


def _fish_line(where: str, option: Option) -> str:
    names = (f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
    value = ""
    if known := known_values(option):  # a tab ends each: no value has a description of its own
        value = f" -x -a {_fish_quoted(' '.join(f'{word}{_TAB}' for word in known))}"
    elif option.value and option.names:
        value = " -r -F" if option.is_path else " -x"
    about = _fish_quoted(option.help)
    return f"complete -c rltui -n {where} {' '.join(names)}{value} -d {about}".replace("  ", " ")


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

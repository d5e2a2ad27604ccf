"""``rltui alerts``: where messages go, whether they arrive, and a service that sends them."""

from __future__ import annotations

import argparse
import os
import pwd
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from rltui.commands.standard_output import emit, tell
from rltui.commands.terminal import has_terminal
from rltui.commands.verbs import Exit
from rltui.config import Config, HooksConfig, load_config
from rltui.config.edit import write_value
from rltui.core.address import is_remote, parse_logdir
from rltui.core.clock import SystemClock
from rltui.core.errors import UsageError
from rltui.core.installation import state_directory
from rltui.core.text import Json, Names, clean, counted
from rltui.facts.runs import absent_words
from rltui.output.doctor_report import target_words
from rltui.output.json_document import test_message
from rltui.session.child_process import ChildProcess
from rltui.session.hook import Hook, has_service, last_result, masked_target, program_of
from rltui.sources.discovery.logdir import similar_to

#: Variables that say where the configuration is; others would be written into it.
_PLACES = ("HOME", "XDG_CONFIG_HOME", "RLTUI_CONFIG")
_TELEGRAM = "https://api.telegram.org/"
#: There where the systemd of this user runs; where it notes whose services go on after logout.
_SYSTEMD = Path("/run/user", str(os.getuid()), "systemd")
_LINGER = Path("/var/lib/systemd/linger")
#: Seconds that setting up a service may take.
_SERVICE_S = 60.0
_UNIT = "$HOME/.config/systemd/user/rltui-alerts.service"
#: systemctl finds the user's systemd by this; some logins do not set it.
_SYSTEMCTL = """\
set -e
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/run/user/$(id -u)}"
"""
#: What is shown, and then run by a shell: with systemd, and where there is none.
_INSTALL = f"""\
{_SYSTEMCTL}\
mkdir -p "$HOME/.config/systemd/user"
cat > "{_UNIT}" << 'END'
[Unit]
Description=rltui: messages about runs
StartLimitIntervalSec=0

[Service]
ExecStart=%s
Restart=on-failure
RestartSec=30
SuccessExitStatus=143
RestartPreventExitStatus=2
Nice=10

[Install]
WantedBy=default.target
END
systemctl --user daemon-reload
systemctl --user enable rltui-alerts.service
systemctl --user restart rltui-alerts.service
loginctl enable-linger  # so that it goes on when you log out
"""
_REMOVE = f"""\
{_SYSTEMCTL}\
systemctl --user disable --now rltui-alerts.service
rm -f "{_UNIT}"
systemctl --user daemon-reload
"""
_OF_CRON = "# rltui alerts"
#: A list that cannot be read is left alone; having none is an error of crontab, too.
_CRON_REMOVE = f"""\
if old=$(LC_ALL=C crontab -l 2>&1); then :; else
  case $old in *"no crontab"*) old= ;; *) echo "$old" >&2; exit 1 ;; esac
fi
new=$(printf '%%s\\n' "$old" | grep -v '{_OF_CRON}$' || true)
printf '%%s\\n' "$new" | crontab -
"""
_CRON_INSTALL = f"""\
{_CRON_REMOVE.rpartition("printf")[0]}(printf '%%s\\n' "$new"; cat) << 'END' | crontab -
@reboot %s {_OF_CRON}
END
# Starts at the next reboot; until then, run its command yourself.
"""


def alerts(options: argparse.Namespace) -> int:
    """Add, list, test or remove targets of messages; install or remove a service."""
    if options.action == "remove" and not options.target:
        has_unit = Path(os.path.expandvars(_UNIT)).is_file()
        if not (has_unit or shutil.which("crontab")):
            raise UsageError("no service is set up")
        return run(_REMOVE if has_unit else _CRON_REMOVE % (), yes=options.yes)
    if options.action == "add":
        return edit(options, tuple(options.target))
    hooks = load_config(options.config, os.environ, {}).hooks
    if not hooks.all_targets:
        more = "rltui help alerts has all actions"
        raise UsageError(f"no target: rltui alerts add https://ntfy.sh/TOPIC; {more}")
    if options.action == "install":
        return install(options)
    chosen = numbered(hooks, tuple(options.target))
    if options.action == "remove":
        return edit(options, next(iter(chosen.values())))
    if options.action == "test":
        return test(hooks, chosen)
    facts = targets_of(hooks)
    for number in chosen:
        emit(f"{number}  {clean(target_words(facts[number - 1]))}\n")
    return Exit.OK


def numbered(hooks: HooksConfig, words: Names) -> dict[int, Names]:
    """All targets by their numbers; only those that ``words`` name, by number or as they stand, if
    any are given."""
    known = enumerate(hooks.all_targets, 1)
    found = {n: target for n, target in known if not words or words in (target, (str(n),))}
    if not found:
        raise UsageError("no such target: see rltui alerts list")
    return found


def targets_of(hooks: HooksConfig) -> list[Json]:
    """Each target without its secrets, when it was last sent a message, and what went wrong."""
    state = state_directory(os.environ)
    never = {"at": None, "error": None}
    return [
        {"target": masked_target(target), **(last_result(state, target) or never)}
        for target in hooks.all_targets
    ]


def config_file(options: argparse.Namespace) -> Config:
    """The configuration as its file says it, without variables of the environment."""
    places = {name: os.environ[name] for name in _PLACES if name in os.environ}
    return load_config(options.config, places, {})


def edit(options: argparse.Namespace, given: Names) -> int:
    """Add a target to the configuration file, or remove one."""
    config = config_file(options)
    targets = list(config.hooks.targets)
    shown = clean(masked_target(given)) if given else ""
    if options.action == "remove":
        if given not in targets:
            raise UsageError(f"{shown} is not in hooks.targets, but in on_finding or a variable")
        targets.remove(given)
        done = "removed"
    elif not "".join(given).strip():
        raise UsageError("add needs a URL, a mailto: address or a command")
    elif given[0].startswith(_TELEGRAM) and "/sendMessage?chat_id=" not in given[0]:
        raise UsageError(f"Telegram needs {_TELEGRAM}botTOKEN/sendMessage?chat_id=ID")
    elif not (has_service(given) or shutil.which(program_of(given))):
        raise UsageError(f"no such program: {program_of(given)}; a URL begins with https://")
    elif given in config.hooks.all_targets:
        number = config.hooks.all_targets.index(given) + 1
        emit(f"{shown}: already target {number}\n")
        return Exit.OK
    else:
        targets.append(given)
        done = f"added; test it with: rltui alerts test {len(targets)}"

    value = [target[0] if len(target) == 1 else list(target) for target in targets]
    is_new = config.path is None
    written, _ = write_value(config, ("hooks", "targets"), value)
    if is_new and written.path is not None:
        written.path.chmod(0o600)  # an address may be a secret
    emit(f"{shown}: {done}\n")
    emit(clean(f"{counted(len(value), 'target')} in {written.path}") + "\n")
    return Exit.OK


def test(hooks: HooksConfig, chosen: Mapping[int, Names]) -> int:
    """Send a message to each of these targets now, and say what came back."""
    failed: list[str] = []
    hook = Hook(hooks, SystemClock(), failed.append, state_directory(os.environ))
    for number, target in chosen.items():
        error = hook.deliveries[number - 1].attempt(test_message())
        emit(clean(f"{number}  {masked_target(target)}: {error or 'delivered'}") + "\n")
    return Exit.BAD if failed else Exit.OK


def install(options: argparse.Namespace) -> int:
    """Set up a service that follows the logdirs from every start of the machine on."""
    if not options.target:
        raise UsageError("install needs a LOGDIR")
    given = [parse_logdir(text) for text in options.target]
    for path in given:
        if not (is_remote(path) or path.exists()):
            raise UsageError(f"{path}: {absent_words(similar_to(path))}")
    paths = [str(path if is_remote(path) else path.absolute()) for path in given]
    config = config_file(options)
    if config.path is None or not config.hooks.all_targets:
        raise UsageError("a service reads the configuration file, which has no target: add one")
    file = ["--config", str(config.path.absolute())]
    command = shlex.join([sys.executable, "-m", "rltui", "check", "--follow", *file, *paths])
    if not command.isprintable() or '"' in command or "\\" in command:
        raise UsageError("a service cannot have a path with quotes or control characters")
    if _SYSTEMD.is_dir():
        return run(_INSTALL % command.replace("%", "%%").replace("$", "$$"), yes=options.yes)
    if not shutil.which("crontab"):
        raise UsageError("a service needs user systemd or crontab: neither found")
    return run(_CRON_INSTALL % command.replace("%", r"\%"), yes=options.yes)


def run(script: str, *, yes: bool) -> int:
    """Show a script, and run it if the user agrees."""
    emit(script)
    if not yes and not has_terminal():
        raise UsageError("nothing was done: no terminal to ask on; --yes does it")
    if not yes and not agrees():
        tell("rltui: nothing was done\n")
        return Exit.OK
    ended = ChildProcess().run(["sh", "-c", script], _SERVICE_S)
    tell("rltui: done\n" if ended.code == 0 else f"rltui: {clean(ended.said)}\n")
    return Exit.OK if ended.code == 0 else Exit.INTERNAL


def agrees() -> bool:
    """Ask on the terminal; the end of the input is a no."""
    try:
        return input("Run this? [y/N] ").lower() in ("y", "yes")
    except EOFError:
        return False


def survival() -> str:
    """Whether messages are sent after logout, and what for."""
    if Path(os.path.expandvars(_UNIT)).is_file():
        asked = ["sh", "-c", f"{_SYSTEMCTL}systemctl --user is-active rltui-alerts.service"]
        if ChildProcess().run(asked, _SERVICE_S).code != 0:
            return "no: systemctl --user status rltui-alerts says why it does not run"
        is_lasting = (_LINGER / pwd.getpwuid(os.getuid()).pw_name).is_file()
        return "yes, by systemd" if is_lasting else "no: loginctl enable-linger"
    listing = ["sh", "-c", f"crontab -l | grep '{_OF_CRON}$'"]
    is_listed = shutil.which("crontab") and ChildProcess().run(listing, _SERVICE_S).code == 0
    return "yes, by cron" if is_listed else "no: rltui alerts install LOGDIR"

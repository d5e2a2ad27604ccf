"""Every verb and its options in one table: parser, help, completion and manual page are made of it.

To add a verb, write a function of its name (``a_verb``) that takes the parsed options and returns
an exit code, and a row of ``VERBS`` that names its module. The module is imported when the verb is
used; this one brings nothing heavy along.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from rltui.core.address import parse_logdir
from rltui.core.errors import UsageError
from rltui.core.text import Names
from rltui.version import __version__

#: Seconds for which a LOGDIR may be awaited: a week in the queue of a cluster.
MOST_WAIT_S = 7 * 86_400.0
#: Runs from which on several processes judge them, and how many processes at most unless asked.
MANY_RUNS = 64
MOST_JOBS = 8
_MOST_PROCESSES = 256
#: Logged steps that a replay shows in a second.
REPLAY_SPEED = 10.0
#: Rows for which a run must be bad before a guard acts.
HOLD_ROWS = 20


class Exit(IntEnum):
    """Exit codes, the same for all verbs."""

    OK = 0
    BAD = 1
    """check: a run at or above --fail-on; gate: a condition not met; canary: a failure missed;
    alerts: a test message not delivered."""
    USAGE = 2
    """Usage or document error."""
    NOTHING = 3
    """Nothing readable below the paths; check: or a host out of reach, and no run bad."""
    INTERNAL = 70
    """Internal error, or output that cannot be written: no statement about a run."""
    INTERRUPTED = 130
    """128 + SIGINT."""


EXIT_CODES = (
    (Exit.OK, "done; no run at or above --fail-on; `gate`: all met"),
    (Exit.BAD, "a run at or above --fail-on, or crashed; `gate`: not met; `guard`: acted"),
    (Exit.USAGE, "wrong option, path, configuration or rule"),
    (Exit.NOTHING, "nothing readable below the paths, or a host out of reach"),
    (Exit.INTERNAL, "internal error, output not written, `guard`: its action failed"),
    (Exit.INTERRUPTED, "interrupted; after another signal 128 + its number"),
)

# fmt: off
_LOGS = "directory of runs, or log file; host:/path, s3://bucket/path ..."
SHELLS = ("bash", "zsh", "fish")
#: Documents that have a schema, ``docs/schemas/NAME.json``.
SCHEMAS = (
    *("brief", "brief-changes", "canary", "check", "config", "doctor", "event", "explain"),
    *("gate", "mcp-compare", "mcp-explain", "mcp-judge", "mcp-list_runs", "mcp-log_tail"),
    *("mcp-samples", "mcp-series", "mcp-wait", "snapshot"),
)
DESCRIPTION = "Live verdict and curves of RL and LLM post-training runs, from their logs."


class Option:
    """One option, or one operand: that has no names."""

    def __init__(
        self, spec: str, help: str, choices: Names = (), *, group: str = "", **more: Any
    ) -> None:
        """``spec``: as in a usage, ``-o --output FILE``, ``--json``, ``LOGDIR...``, ``[NAME]``.

        Options of one ``group`` exclude each other; ``more`` is for argparse.
        """
        words = spec.split()
        value = "" if words[-1].startswith("-") else words[-1]
        self._flags = tuple(word for word in words if word.startswith("-"))
        self._metavar = value.strip("[].")
        self.help = help
        self.choices = choices
        """The only values that it takes; else empty."""
        self.group = group
        self._more = more
        self.optional = value.startswith("[")
        self.dest: str = more.get("dest") or self._flags[-1].lstrip("-").replace("-", "_")
        self.value = self._metavar or (self.dest.upper() if choices else "")
        """The word for its value; empty where it has none."""
        self.takes_several = "..." in value
        self.many = self.takes_several or more.get("action") == "append"
        """Whether it can have several values, or stand several times."""

    @property
    def names(self) -> Names:
        """All that it can be written as; none for an operand."""
        switch = self._more.get("action") is argparse.BooleanOptionalAction
        return (*self._flags, f"--no-{self.dest}") if switch else self._flags

    def add_to(self, parser: argparse._ActionsContainer, **more: Any) -> None:
        """Make a parser take it; ``more`` is for argparse."""
        settings = {"dest": self.dest, "help": self.help, **self._more, **more}
        if self.choices:
            settings["choices"] = self.choices
        if self._metavar:
            settings["metavar"] = self._metavar
        elif not self.choices:
            settings.setdefault("action", "store_true")
        if self.takes_several:
            settings["nargs"] = "*" if self.optional else "+"
        elif self.optional:
            settings["nargs"] = "?"
        parser.add_argument(*self._flags, **settings)


class Verb(NamedTuple):
    """One command of the program."""

    name: str
    module: str
    """The module of this package that runs it; none for help itself."""
    summary: str
    example: str
    own: tuple[Option, ...]
    """Its options and operands, without those of every verb."""
    internal: bool = False
    """Whether only rltui itself calls it, so that the list of commands leaves it out."""

    @property
    def operands(self) -> list[Option]:
        """All that is not written with dashes, in the order of the help."""
        return [o for o in self.own if not o.names]

    def run(self, options: argparse.Namespace) -> int:
        """Run it; returns the exit code."""
        module = import_module(f"{__package__}.{self.module}")
        code: int = getattr(module, self.name.replace("-", "_"))(options)
        return code


# -- types of values -----------------------------------------------------------------------


def _logdir(text: str) -> Path:
    try:
        return parse_logdir(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _number(low: float, high: float, message: str) -> Callable[[str], float]:
    """The type of a number from ``low`` to ``high``."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(message)
        return value

    return read


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{2,4})x(\d{1,4})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 120x30")
    width = int(found[1])
    height = int(found[2])
    if not (20 <= width <= 1000 and 5 <= height <= 1000):
        raise argparse.ArgumentTypeError("sizes go from 20x5 to 1000x1000")
    return width, height


def _hold(text: str) -> tuple[int, float]:
    """Rows and seconds: "20", "90s", "10m", "2h"; one of them is 0."""
    found = re.fullmatch(r"([1-9]\d{0,5})([smh]?)", text, re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows, nor a time such as 10m")
    number = int(found[1])
    unit = found[2]
    return (0, number * {"s": 1.0, "m": 60.0, "h": 3600.0}[unit]) if unit else (number, 0.0)


def _listen_address(text: str) -> tuple[str, int]:
    """``ADDR:PORT``, ``[ADDR]:PORT``, or ``PORT`` on the loopback."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not ADDR:PORT")
    if len(port) > 5 or int(port) >= 1 << 16:
        raise argparse.ArgumentTypeError(f"{port}: ports go up to 65535")
    return host.strip("[]") or "127.0.0.1", int(port)


# -- options that several verbs have -------------------------------------------------------


_LOGDIRS = Option("LOGDIR...", _LOGS, dest="logdirs", type=_logdir)
_CONFIG = Option("--config FILE", "read this configuration file", type=Path)
#: What is read, and how it is interpreted.
_READING = (
    _CONFIG,
    Option("--run GLOB", "only the run of this name, or runs whose name, path or first folder "
           "matches", dest="run_glob"),
    Option("--framework ID", "read tags as this framework's; default: detected"),
    Option("--algorithm NAME", "judge as this algorithm: PPO, DPO ...; default: detected"),
    Option("--verify", "verify the checksum of each record of event files"),
)
_REFERENCE = (
    Option("--reference RUN", "compare with this good run: its name, or the path of its log"),
    Option("--align", "compare with the reference at the same step (default), time since the "
           "start, or tokens", ("step", "time", "tokens"), default="step"),
)
_SCREEN = (
    Option("--theme NAME", "colours: dark, light, high-contrast ..."),
    Option("--marker", "characters of charts", ("braille", "block", "ascii")),
    Option("--mouse", "use the mouse; default: not by ssh", action=argparse.BooleanOptionalAction),
)
_METRIC = Option("--metric KEY", "export the newest value of KEY; repeatable; default: headlines",
                 dest="metrics", action="append", default=[])

_JSON = Option("--json", "print one JSON document")
_FAIL_ON = Option("--fail-on", "exit with 1 if a run is at this level or worse (default bad)",
                  ("watch", "bad", "never"), default="bad")
_JOBS = Option("-j --jobs N", "worker processes (default: one per core, at most "
               f"{MOST_JOBS}, for more than {MANY_RUNS} runs; with --reference always one)",
               type=_number(1, _MOST_PROCESSES, f"from 1 to {_MOST_PROCESSES} processes"))

_WATCH = (Option("[LOGDIR...]", _LOGS, dest="logdirs", type=_logdir),
          *_READING, *_REFERENCE, *_SCREEN)
_CHECK = (
    _LOGDIRS,
    Option("--format", "output (default text); line: at most 80 characters, for a status bar; "
           "openmetrics: for Prometheus; brief: as rltui brief",
           ("text", "json", "line", "openmetrics", "brief")),
    Option("--json", "print one JSON document: --format json"),
    Option("-o --output FILE", "write FILE atomically", type=Path),
    Option("--max-age SECONDS", "with --format line: print an earlier line up to this age",
           type=_number(0, 86400, "from 0 to 86400 seconds")),
    _METRIC,
    Option("--wait SECONDS", "with --follow: wait this long for a LOGDIR that does not exist yet",
           type=_number(0, MOST_WAIT_S, f"from 0 to {MOST_WAIT_S:.0f} seconds")),
    Option("--follow", "print a line for each change, until Ctrl+C or the end of standard input"),
    _FAIL_ON,
    _JOBS,
    Option("--ray", "judge the runs on the Ray cluster at RAY_ADDRESS, else of this machine"),
    *_READING, *_REFERENCE,
)
_BRIEF = (
    _LOGDIRS,
    _JSON,
    Option("--since ID", "print only what changed since the answer with this id"),
    Option("--skipped", "with --json: add the rules that could not judge, and what they lack"),
    _FAIL_ON,
    _JOBS,
    *_READING, *_REFERENCE,
)
_GATE = (
    _LOGDIRS,
    Option("--expect FILE", "read the conditions from this YAML file", type=Path),
    Option("--history LOGDIR", "compare with the good runs of the same job; repeatable",
           dest="history", action="append", default=[], type=_logdir),
    Option("--junit FILE", "also write JUnit XML to FILE, atomically", type=Path),
    Option("--annotate", "mark conditions that are not met in words (default), or as GitHub "
           "annotations", ("text", "github"), default="text"),
    _JSON,
    Option("--learn", "learn conditions for the next good run from good runs of one job"),
    Option("-o --output FILE", "with --learn: write FILE atomically", type=Path),
    Option("--force", "with --output: overwrite FILE"),
    *_READING, *_REFERENCE,
)
_SNAPSHOT = (
    _LOGDIRS,
    Option("--json", "print one JSON document with every metric", group="form"),
    Option("--markdown", "print Markdown for an issue or a chat", group="form"),
    Option("--compare", "put the runs side by side in one table"),
    Option("--group-by WHAT", "compare groups of runs: by name (without seeds) or setting"),
    Option("--svg FILE", "write a picture, in the dark theme", group="form", type=Path),
    *_READING, *_REFERENCE,
)
_CANARY = (
    _LOGDIRS,
    _JSON,
    Option("--fail-on-blind", "exit with 1 if metrics to detect a failure are missing"),
    *_READING,
)
_REPORT = (
    _LOGDIRS,
    Option("-o --output FILE", "write FILE atomically, instead of standard output",
           type=Path),
    *_READING, *_REFERENCE,
)
_PLOT = (
    Option("LOGDIR", "directory of runs, or log file; more may follow",
           dest="logdir", type=_logdir),
    Option("TAG...", "tag, metric or glob; one chart for each tag, with all runs", dest="names"),
    Option("--smooth S", "smooth curves: 0 (not at all) to below 1", default=0.0,
           type=_number(0.0, math.nextafter(1.0, 0.0), "smoothing goes from 0 (none) to below 1")),
    Option("--log", "use a logarithmic y axis"),
    Option("--x AXIS", "x axis: step (default), relative or wall time, tokens, or a metric",
           default="step"),
    Option("--size WxH", "size in cells; default: the terminal", type=_size),
    Option("--compare RUN...", "draw only these runs, in this order: names or globs"),
    Option("--group-by WHAT", "draw mean and sd of groups: by name (without seeds) or setting"),
    *_READING,
)
_EXPORT = (
    _LOGDIRS,
    Option("--format", "output (default: the ending of FILE, else csv); parquet needs pyarrow",
           ("csv", "jsonl", "parquet")),
    Option("--tag GLOB", "export only this tag, metric or glob; repeatable",
           dest="tags", action="append"),
    Option("--spreadsheet", "with csv: quote names that a spreadsheet would run as formulas"),
    Option("-o --output FILE", "write FILE atomically, instead of standard output",
           type=Path),
    *_READING,
)
_EXPLAIN = (
    Option("[NAME]", "tag, metric key, rule or symptom", dest="name"),
    _JSON,
    Option("--reasons", "of a rule, print the source of each limit, too"),
    Option("--framework ID", "take NAME as a tag of this framework"),
    _CONFIG,
)
_SCHEMA = (Option("[NAME]", "document; default: list them", SCHEMAS, dest="document"),)
_LINT = (
    Option("[FILE...]", "files, or directories of them; default: your own",
           dest="files", type=Path),
    _CONFIG,
    Option("--run", "run the test cases of rules; without FILE also of the shipped ones",
           dest="run_cases"),
)
_DOCTOR = (
    Option("[LOGDIR...]", "search here for logs", dest="logdirs", type=_logdir),
    _CONFIG,
    Option("--json", "print JSON"),
)
_DEMO = (
    Option("--scenario NAME", "tell this story; see --list", default="kl-blowup"),
    Option("--speed X", "steps per second (1)", default=1.0,
           type=_number(0.01, 100.0, "speeds go from 0.01 to 100")),
    Option("--list", "list the stories"),
    _CONFIG, *_SCREEN,
)
_REPLAY = (
    _LOGDIRS,
    Option("--speed X", f"logged steps per second ({REPLAY_SPEED:g})",
           type=_number(0.1, 1000.0, "speeds go from 0.1 to 1000")),
    Option("--to STEP", "open the run as it was at STEP; with --speed: play up to STEP", type=int),
    *_READING, *_REFERENCE, *_SCREEN,
)
_STREAM = (Option("PATH...", "directory of runs, or log file", dest="logdirs", type=Path),)
_SERVE = (
    _LOGDIRS,
    Option("--listen ADDR:PORT", "default 127.0.0.1:9709, which only this machine reaches; port "
           "0: any free port", type=_listen_address, default=("127.0.0.1", 9709)),
    _METRIC,
    *_READING,
)
_GUARD = (
    _LOGDIRS,
    Option("--on-bad ACTION", "do this once: 'signal TERM PID', 'scancel JOB [SIGNAL]', "
           "'touch FILE', or 'run PROGRAM ARGUMENT...' with GUARD_RUN, GUARD_STEP and "
           "GUARD_SYMPTOM in its environment"),
    Option("--hold TIME", f"act when the run has been bad for this long without a gap: rows "
           f"(default {HOLD_ROWS}), or 90s, 10m, 2h", type=_hold, default=(HOLD_ROWS, 0.0)),
    Option("--dry-run", "do nothing: print when it would have acted on each recorded run"),
    Option("--json", "with --dry-run: print a line of JSON for each run"),
    Option("--again", "act even if a guard has acted on this run before"),
    Option("--wait", "wait for the next run even if all runs have ended"),
    *_READING,
)
_ALERTS = (
    Option("[ACTION]", "add or remove a target of messages, list them (default), send each a test "
           "message, or install a service that follows LOGDIR; remove without TARGET: that service",
           ("add", "list", "test", "install", "remove"), dest="action", default="list"),
    Option("[TARGET...]", "URL (ntfy, Slack, Discord, Telegram ...), mailto: address or command; "
           "list, test, remove: also its number; install: LOGDIR", dest="target"),
    Option("--yes", "set up or remove the service without asking"),
    _CONFIG,
)

_TEXT = Option("--text", "answer with short texts alone, for clients that hand the model the "
               "document in place of the text")

VERBS = (
    Verb("watch", "watch", "watch runs live; without LOGDIR choose among the logs found",
         "rltui watch runs/", _WATCH),
    Verb("check", "check", "print the verdict on each run; the exit code tells scripts",
         "rltui check runs/grpo --json --fail-on watch", _CHECK),
    Verb("brief", "check", "print verdict and next step of each run, for coding agents",
         "rltui brief runs/ --since 7f3c", _BRIEF),
    Verb("gate", "gate", "test runs against conditions, for CI and nightlies, or learn conditions",
         "rltui gate runs/ --expect expect.yaml --junit gate.xml", _GATE),
    Verb("snapshot", "reports",
         "print the state of all runs once, as text, JSON, Markdown or a picture",
         "rltui snapshot runs/ --json", _SNAPSHOT),
    Verb("report", "reports",
         "write one HTML file to hand over: verdicts, charts, settings, environment",
         "rltui report runs/grpo -o report.html", _REPORT),
    Verb("plot", "reports", "draw a chart of each tag, with all runs",
         "rltui plot runs/ actor/entropy 'critic/score/*' --smooth 0.6 --compare a 'b_*'", _PLOT),
    Verb("export", "export", "write every stored point as CSV, JSON lines or Parquet",
         "rltui export runs/ --tag 'critic/score/*' -o scores.csv", _EXPORT),
    Verb("explain", "explain",
         "explain a tag, metric, rule or symptom; without a name list them",
         "rltui explain actor/ppo_kl", _EXPLAIN),
    Verb("canary", "reports",
         "test which failures would be detected, on a copy of each run in memory",
         "rltui canary runs/grpo", _CANARY),
    Verb("schema", "explain",
         "print the JSON schema of a document; without a name list them",
         "rltui schema check", _SCHEMA),
    Verb("lint", "lint", "check configuration, dialects, rules and themes",
         "rltui lint my-rules.yaml --run", _LINT),
    Verb("doctor", "doctor",
         "report what rltui detects: terminal, installation, configuration, logs",
         "rltui doctor runs/", _DOCTOR),
    Verb("demo", "replay", "watch a made-up run, written live into a temporary directory",
         "rltui demo --scenario entropy-collapse --speed 4", _DEMO),
    Verb("replay", "replay", "play a run as if it were live, with the verdict at each step",
         "rltui replay runs/grpo --speed 20", _REPLAY),
    Verb("stream", "export",
         "send logs to the rltui on another host that runs this by ssh",
         "rltui stream /data/runs", _STREAM, internal=True),
    Verb("mcp", "mcp",
         "serve verdicts to a coding agent by the Model Context Protocol (MCP)",
         "rltui mcp runs/", (_LOGDIRS, _TEXT, *_READING, *_REFERENCE)),
    Verb("serve-metrics", "serve_metrics",
         "serve verdicts to Prometheus, on this machine only by default",
         "rltui serve-metrics runs/ --listen 127.0.0.1:9709", _SERVE),
    Verb("guard", "guard",
         "act once when a run stays bad: signal, scancel, flag file or program",
         "rltui guard runs/grpo --on-bad 'signal TERM 4242' --dry-run", _GUARD),
    Verb("alerts", "alerts", "set who is messaged when a run ends or goes wrong, and test it",
         "rltui alerts add https://ntfy.sh/TOPIC", _ALERTS),
)
NAMES = tuple(verb.name for verb in VERBS)
HELP_VERB = Verb(
    "help", "", "print the options and an example of a command", "rltui help check",
    (Option("[COMMAND]", "which command", (*NAMES, "help"), dest="topic"),),
)

#: Options that stand before a verb or after it; neither overwrites the other.
COMMON = (
    Option("--color WHEN", "use colours: always, never, or auto: on terminals, unless NO_COLOR "
           "or FORCE_COLOR is set", ("auto", "always", "never"), default=argparse.SUPPRESS),
    Option("--debug", "write a log for a bug report, and print its path",
           default=argparse.SUPPRESS),
)
#: What stands before a verb, or without one.
MAIN = (
    Option("-h --help", "print this help and exit", action="help", default=argparse.SUPPRESS),
    Option("--version", "print the version and exit", action="version",
           version=f"rltui {__version__}"),
    Option("--print-completion SHELL", "print the completion script of bash, zsh or fish", SHELLS),
    *COMMON,
)
# fmt: on

"""Console logs: what a trainer printed, saved by the shell, Slurm, nohup or W&B.

Each dialect is a module with its recogniser; :mod:`.console_decoder` finds the lines. Values
are rounded for people. A time without a zone is not used as wall time, since the log does not
say in which zone the machine is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.batch import blocks_in
from rltui.core.later import regex
from rltui.formats.base import Decoder, Format, Options, Refusal, RowSearch
from rltui.formats.line_decoder import NO_ROWS, figure_lines

if TYPE_CHECKING:
    from rltui.formats.console.console_decoder import ConsoleDecoder

#: Suffixes and names of console logs; a name without a suffix must contain a word of these.
_NAMES = regex(
    r".*\.(?:log|out|stdout|err|stderr)|[^.]*\.[oe]\d{3,}(?:[.-]\d{1,6})?"
    r"|std(?:out|err).*"
    r"|(?:.*[_.-])?(?:log|logs|c?out|output|console|stderr|nohup|train|training)(?:[_.-][^.]*)?\.txt"
    r"|(?:[^.]*[_-])?(?:train|training|log|console|output|nohup)(?:[_-][^.]*)?",
    re.IGNORECASE | re.DOTALL,
)
#: Names that do not identify a run: the directory does.
_OF_DIRECTORY = regex(
    r"(?:stdout|stderr|console|c?out|output|(?:sf_)?log|train|training|run|nohup|main|trainer|std)"
    r"(?:\.(?:log|out|err|txt|stdout|stderr))?|std(?:out|err)\.[\w.]*|log_\d{9,11}\.txt",
    re.IGNORECASE,
)
#: Words in the names of what engines and their servers print.
_ENGINE = regex(
    r"(?:^|[^a-z])(?:vllm|sglang|engine|infer|inference|serve|server|rollout|generator|sampler"
    r"|worker|router|prefill|decode)s?(?:$|[^a-z])",
    re.IGNORECASE,
)
#: Suffixes of console logs that were named by people, and of much else.
_ANY = regex(
    r"(?!\.|readme|licen[sc]e|changelog|requirements|copying|notice|authors)"
    r"[^.]+(?:\.(?:md|txt|text))?",
    re.IGNORECASE | re.DOTALL,
)
#: A text that was written, which may quote a log: headings, blocks and links of Markdown, programs.
_WRITTEN = regex(rb"^(?:#{1,6} \S|```|~~~|#!|(?:import|from|def|class) \w)|\]\(\S+\)", re.MULTILINE)
#: Rows at different steps by which a file of any name is a log.
_PLAIN_ROWS = 3
#: What a trainer prints long before its first row.
_PROMISES = regex(
    rb"\((?:TaskRunner|main_task) pid=|'actor_rollout_ref'|\*\*\*\*\* Running training \*\*\*\*\*"
    rb"|Training Progress: *\d+%\|"
)


class Console(Format):
    """The format ``console``."""

    name = "console"
    files = "`*.log`, `*.out`, `*.err`, `stdout*`, `stderr*`, `slurm-*`, `log_*.txt`"
    written_by = (
        "what is printed: verl and TinyZero, transformers and TRL, SB3's tables, CleanRL, "
        "torchtune, prime-rl, slime, ROLL, SkyRL, rsl_rl, rl_games, Sample Factory, Unity "
        "ML-Agents, rl-starter-files, PyMARL, ManiSkill, Keras and keras-rl, Megatron, metrics "
        "in tqdm's bars (Lightning, Tianshou), boxes and tables, own loops; what vLLM and "
        "SGLang print beside a training; and why a training died"
    )
    lacks = "no rows of metrics in it so far"
    precision_rank = 1
    names_run = False
    anywhere = True
    nameless = _OF_DIRECTORY
    beside = _ENGINE

    def claims_name(self, name: str) -> bool:
        """Match the suffix, or a word in a name without one."""
        return _NAMES.fullmatch(name) is not None

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        """Whether the head holds a row of a dialect, or what announces one."""
        return _decoder().found(head) or _PROMISES.search(head) is not None

    def may_have_name(self, name: str) -> bool:
        """Match names without a suffix or of a text, but not of documents that quote logs."""
        return _ANY.fullmatch(name) is not None

    def is_plainly(self, head: bytes) -> bool:
        """Whether the steps of its rows move on, and nothing shows a document or a program."""
        if b"\0" in head or _WRITTEN.search(head) is not None:
            return False
        decoder = _decoder()
        decoded = decoder.feed(head, more=True).then(decoder.finish())
        steps = {int(step) for block in blocks_in(decoded.items) for step in block.steps}
        return len(steps) >= _PLAIN_ROWS

    def refusal(self, head: bytes, options: Options) -> Refusal:
        """Which lines have figures, and no row is among them."""
        found = figure_lines(head)
        if found is None:
            return super().refusal(head, options)
        return Refusal(found.lost(NO_ROWS), lost=True)

    def row_search(self) -> RowSearch:
        return _decoder().found

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        return _decoder()


def _decoder() -> ConsoleDecoder:
    # its patterns are compiled when a log is read
    from rltui.formats.console.console_decoder import ConsoleDecoder

    return ConsoleDecoder()

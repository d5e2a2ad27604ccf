"""rltui: a terminal monitor for RL and LLM post-training runs, with a live, explained verdict.

Data flows one way, from the log files of a training to the screen. A package imports only
packages below it; import-linter checks that (see ``pyproject.toml``).

================================= ==========================================================
package                           what it does
================================= ==========================================================
``cli``                           argument tree, exit codes, errors to stderr
``commands`` ``api``              one module per verb: watch, check, ...; the Python API
``pages``                         one folder for each page: its lines, its Textual screen
``tui`` ``demo``                  what all pages share of Textual; made-up live runs
``output``                        what commands write: text, JSON, CSV, SVG, OpenMetrics
``draw``                          styled lines, glyphs, charts, tables
``facts``                         what is known of a run or several, before anything is drawn
``session``                       connects sources, store, catalogue and health
``health``                        rules, detectors, findings, report
``remote``                        readers of logs on other hosts and clusters
``store`` ``sources``             points as columns; finding and following logs
``catalogue`` ``config``          what a tag means; the user's settings
``trackers``                      stores of experiment trackers (MLflow, trackio)
``formats`` ``files``             decoders of log formats; files that grow
``core``                          types that all packages share
================================= ==========================================================

Start reading at :mod:`rltui.session`. From Python: :func:`read`, :func:`judge`, :func:`follow`, see
:mod:`rltui.api`.
"""

from __future__ import annotations

from rltui.version import __version__

#: As of ``typing``, whose import takes longer than the answer to a status bar.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from rltui.api import RltuiError, Runs, Verdicts, follow, judge, read


__all__ = ["RltuiError", "Runs", "Verdicts", "__version__", "follow", "judge", "read"]


def __getattr__(name: str) -> object:
    """Import the API when it is used: most commands never need it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rltui import api  # imported when it is used

    return getattr(api, name)


def __dir__() -> list[str]:
    """List what is imported, and what can be: for completion in a Python shell."""
    return sorted({*globals(), *__all__})

"""rltui: a terminal monitor that shows live RL and LLM post-training runs and judges them.

Data flows one way, from the log files of a training to the screen. A package imports only
packages below it; import-linter checks that (see ``pyproject.toml``).

================================= ==========================================================
package                           what it does
================================= ==========================================================
``cli``                           argument tree, exit codes, errors to stderr
``commands``                      one module per verb: watch, check, snapshot, plot, ...
``tui``                           the Textual app: screens, widgets, keys
``present`` ``demo``              everything a person reads, as text; made-up live runs
``session``                       the only wiring: sources -> store -> catalogue -> health
``health``                        rules, detectors, findings, report
``store`` ``sources``             columns of points; finding and following logs
``catalogue`` ``config``          what a tag means; the user's settings
``trackers``                      stores of experiment trackers (MLflow, trackio)
``formats`` ``files``             decoders of log formats; growing files on disk
``core``                          the types that all packages share
================================= ==========================================================

Start reading at :mod:`rltui.session`.
"""

__version__ = "0.1.0"

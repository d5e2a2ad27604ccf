"""rltui: a terminal monitor for RL and LLM post-training runs, with a live, explained verdict.

Data flows one way, from the log files of a training to the screen. A package imports only
packages below it; import-linter checks that (see ``pyproject.toml``).

================================= ==========================================================
package                           what it does
================================= ==========================================================
``cli``                           argument tree, exit codes, errors to stderr
``commands``                      one module per verb: watch, check, snapshot, plot, ...
``tui``                           the Textual app: screens, widgets, keys
``present`` ``demo``              all output as lines of text; made-up live runs
``session``                       connects sources, store, catalogue and health
``health``                        rules, detectors, findings, report
``store`` ``sources``             points as columns; finding and following logs
``catalogue`` ``config``          what a tag means; the user's settings
``trackers``                      stores of experiment trackers (MLflow, trackio)
``formats`` ``files``             decoders of log formats; files that grow
``core``                          types that all packages share
================================= ==========================================================

Start reading at :mod:`rltui.session`.
"""

__version__ = "0.1.0"

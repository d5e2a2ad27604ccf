"""rltui: a terminal monitor that shows live RL and LLM post-training runs and judges them.

Data flows one way, from the files of a training run to the screen; each floor imports
only floors below it (import-linter enforces this, see ``pyproject.toml``):

===== ============================== ====================================================
floor package                        what it does
===== ============================== ====================================================
8     ``cli``                        argument tree, exit codes, errors to stderr
7     ``commands``                   one module per verb: watch, check, snapshot, plot, ...
6     ``tui``                        the Textual app: keys, focus, scrolling, painting
5     ``present``, ``demo``          anything a person reads, as text; live demo runs
4     ``session``                    the only wiring: sources -> store -> catalogue -> health
3     ``health``                     rules, findings, report
2     ``store`` ``sources``          columns of points; bytes -> batches;
      ``catalogue`` ``config``       what a tag means; user settings
1     ``core``                       the words everyone speaks
===== ============================== ====================================================

Start reading at :mod:`rltui.session`.
"""

__version__ = "0.1.0"

"""Floor 3: judges runs by rules that stand in YAML. No metric name and no threshold in code.

:func:`load_rules` reads the rules, :class:`Engine` runs them and answers with a
:class:`~rltui.health.model.Report`; :func:`run_cases` tries the examples in the rules.
"""

from rltui.health.cases import run_cases
from rltui.health.engine import Engine
from rltui.health.rules import load_rules

__all__ = ["Engine", "load_rules", "run_cases"]

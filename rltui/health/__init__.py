"""Floor 3: judges runs by rules that stand in YAML. No metric name and no threshold in code.

``data/rules.yaml`` holds the rules; detectors are pure functions in ``detectors``, ``decline``,
``learning``, ``outcome`` and ``pace``. :func:`load_rules` reads the rules, :class:`Engine` runs
them and answers with a :class:`~rltui.health.model.Report`; :func:`run_cases` tries the examples
that stand in the rules.
"""

from rltui.health.cases import run_cases
from rltui.health.engine import Engine
from rltui.health.rules import load_rules

__all__ = ["Engine", "load_rules", "run_cases"]

"""A training run that does not train, for ``rltui demo``, pictures and tests.

:mod:`~rltui.demo.scenario` says how a run goes, :mod:`~rltui.demo.verl_tags` how verl logs it,
:mod:`~rltui.demo.demo_run` writes real event files, :mod:`~rltui.demo.writer` lets them grow.
Knows no screen and no rule; TensorBoard's writer is imported when a run is made.
"""

from rltui.demo.demo_run import DemoRun
from rltui.demo.scenario import SCENARIOS, Scenario
from rltui.demo.writer import DemoWriter

__all__ = ["SCENARIOS", "DemoRun", "DemoWriter", "Scenario"]

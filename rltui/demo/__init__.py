"""A simulated training run for ``rltui demo``, pictures and tests.

:mod:`~rltui.demo.scenario` lists the stories, :mod:`~rltui.demo.course` simulates a GRPO run,
:mod:`~rltui.demo.verl_tags` logs it as verl does, and runs of other trainers as these do,
:mod:`~rltui.demo.demo_run` writes real event files and appends to them.
Independent of screens and rules; TensorBoard's writer is imported when a run is created.
"""

from rltui.demo.course import Scenario
from rltui.demo.demo_run import DemoRun, DemoWriter, demo_runs
from rltui.demo.scenario import SCENARIOS

__all__ = ["SCENARIOS", "DemoRun", "DemoWriter", "Scenario", "demo_runs"]

"""Where the tests find the project, their fixtures, and the corpora of real logs."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
#: Logs of real trainings beside the project; tests that read them skip without.
CORPORA = ROOT.parent / "shared" / "corpora"
DEV = CORPORA / "dev"

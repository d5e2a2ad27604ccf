"""Whether the text of ``rltui brief`` alone lets a reader name a failure and act on it:
``python -m benchmarks.agents``."""

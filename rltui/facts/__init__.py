"""Facts about runs: checks, findings, comparison, timing; no width, no colour, no Textual.

Pages and outputs draw these and compute nothing of their own.
"""

"""Detectors: pure functions of the rows so far. They know no metric and no limit."""

"""Detectors: pure functions of the rows so far. No metric and no limit is named here."""

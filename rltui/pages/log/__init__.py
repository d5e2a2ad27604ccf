"""The end of a run's console log."""

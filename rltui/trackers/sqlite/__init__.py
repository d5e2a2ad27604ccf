"""Trackers that keep the metrics of many runs in one SQLite database."""

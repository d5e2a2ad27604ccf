"""Reads the files of runs, once or live: when to read, how much, in which order."""

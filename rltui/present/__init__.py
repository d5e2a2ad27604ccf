"""Anything a person reads, as text, lines of styled cells, or JSON. No toolkit.

Everything here is a pure function of what a session holds and of a few view options; the
app paints the lines, ``snapshot`` prints them, tests read them.
"""

"""Widgets: everything on a screen is painted from lines of styled text."""

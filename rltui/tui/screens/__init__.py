"""Screens: one file each, with layout, style, keys and what the keys do."""

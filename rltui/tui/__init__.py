"""The Textual app. Knows keys, focus and painting; no metric, no threshold, no file.

``app`` is the life cycle, ``navigation`` what keys do to the view, ``canvas`` the one widget
that paints lines and repaints only the spans that changed, ``theming`` tokens to colours.
What the screens say is made one floor below, in :mod:`rltui.present.screens.frame`.
"""

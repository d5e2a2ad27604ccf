"""The Textual app. Knows keys, focus and painting; no metric, no threshold, no file.

``app`` is the life cycle, ``pump`` how news of the logs get to the screens, ``shell`` what this
app and the picker share, ``screens`` and ``widgets`` what one sees, ``theming`` tokens to
colours, ``cell_diff`` what is written to the terminal. What the screens say is made one floor
below, in :mod:`rltui.present.screens`.
"""

"""Parts of Textual that all pages share: the shell, the base of screens, widgets, keys and
painting.

``pump`` is how news of the logs get to the screens, ``shell`` what the app and the picker share,
``screen`` what every screen is, ``theming`` tokens to colours, ``cell_diff`` what is written to the
terminal. Knows no metric, no threshold, no file; pages are one floor above, in :mod:`rltui.pages`.
"""

import os

# how long Textual waits after Esc for the rest of an escape sequence, in milliseconds: a user feels
# the 100 of Textual; terminals send the rest in one write
os.environ.setdefault("ESCDELAY", "50")

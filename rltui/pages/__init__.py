"""What the user sees: a folder for each page, and the app that shows them.

``lines`` of a page makes styled lines of facts, ``screen`` is what Textual shows and which keys it
takes.
"""

import rltui.tui  # noqa: F401 - what it sets has to be set before Textual is imported

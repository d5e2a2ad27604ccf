"""What the user sees: a folder for each page, and the app that shows them.

``lines`` of a page makes styled lines of facts, ``screen`` is what Textual shows and which keys it
takes.
"""

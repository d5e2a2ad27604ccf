"""Names from logs in messages to chat services: they must notify nobody."""

from __future__ import annotations

import re

#: What Slack takes for a mention or a link begins with a bracket: ``<!channel>``, ``<@U1>``,
#: ``<https://...|text>``. Mattermost, Discord and Rocket.Chat take ``@all``, ``@everyone``.
_BRACKET = re.compile(r"<(?=[!@#A-Za-z])")
_AT = re.compile(r"@(?=\w)")


def without_mentions(text: str) -> str:
    """A text with look-alikes in place of the characters that begin a mention."""
    return _AT.sub("\uff20", _BRACKET.sub("\u2039", text))

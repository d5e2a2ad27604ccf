"""What a reader hands over, as bytes: the protocol of ``rltui stream``, see ``docs/remote.md``.

Whoever decodes takes nothing for granted: sizes are bounded, text is cleaned, kinds of frames that
are unknown are skipped, and whatever is malformed raises :class:`WireError`.
"""

from rltui.remote.wire.batches import BatchDecoder, BatchEncoder
from rltui.remote.wire.codec import WireError
from rltui.remote.wire.framing import VERSION, Frame, FrameReader, FrameWriter, Kind, VersionError

__all__ = [
    "VERSION",
    "BatchDecoder",
    "BatchEncoder",
    "Frame",
    "FrameReader",
    "FrameWriter",
    "Kind",
    "VersionError",
    "WireError",
]

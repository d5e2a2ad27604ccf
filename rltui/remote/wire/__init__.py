"""The protocol of ``rltui stream``, which carries batches as bytes: see ``docs/remote.md``.

Decoders trust nothing: they bound sizes, clean text, skip unknown kinds of frames, and raise
:class:`WireError` for whatever is malformed.
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

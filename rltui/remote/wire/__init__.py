"""The protocol of ``rltui stream``, which carries batches as bytes: see ``docs/remote.md``.

Decoders trust nothing: they bound sizes, clean text, skip unknown kinds of frames, and raise
:class:`WireError` for whatever is malformed.
"""

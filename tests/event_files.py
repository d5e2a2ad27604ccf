"""Event files as TensorBoard's protobuf reads them, without its slow checks of every record."""

import struct
from collections.abc import Iterator

from tensorboard.compat.proto.event_pb2 import Event


def records(data: bytes) -> Iterator[bytes]:
    """The payload of every whole record; lengths are believed, checksums are not read."""
    pos = 0
    while pos + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, pos)
        if pos + length + 16 > len(data):
            return
        yield data[pos + 12 : pos + 12 + length]
        pos += length + 16


def events(data: bytes) -> Iterator[Event]:
    """Every event, in the order of the file; raises DecodeError where a payload is none."""
    return map(Event.FromString, records(data))

"""Summary values other than floats: text, hyperparameters, other number types.

Uses TensorBoard's protobuf messages, imported with the first such value: the import takes 20 ms
and most files do not need it.
"""

from __future__ import annotations

from typing import Any

from rltui.formats.base import MAX_TEXT, clean_tag, clean_text

TEXT = b"text"
HPARAMS = b"hparams"
_MAX_NUMBER_BYTES = 256
_STRING_VAL = 8


def number_of(tensor: bytes) -> float | None:
    """The number of a tensor with one real element of any type, or None."""
    if len(tensor) > _MAX_NUMBER_BYTES:
        return None
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.util.tensor_util import make_ndarray

    try:
        array = make_ndarray(TensorProto.FromString(tensor))
        return float(array.reshape(())) if array.size == 1 and array.dtype.kind in "fiub" else None
    except (DecodeError, TypeError, ValueError, KeyError, OverflowError):
        return None


def text_of(tensor: bytes) -> str | None:
    """The strings of a text tensor, one per line, cleaned; None when it has none."""
    from rltui.formats.protobuf import MalformedError, fields

    try:
        parts = [tensor[a:b] for n, _, a, b in fields(tensor, 0, len(tensor)) if n == _STRING_VAL]
    except MalformedError:
        return None
    whole = b"\n".join(parts)
    if not parts:
        return None
    cut = whole[:MAX_TEXT]
    return clean_text(cut) + (" …" if len(whole) > MAX_TEXT else "")


def hparams_of(content: bytes) -> dict[str, object]:
    """Hyperparameters of a ``_hparams_/session_start_info`` record; empty for other records."""
    from google.protobuf.message import DecodeError
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    try:
        message = HParamsPluginData.FromString(content)
    except DecodeError:
        return {}
    found: dict[str, object] = {}
    for name, value in message.session_start_info.hparams.items():
        plain = _plain(value)
        if plain is not None:
            found[clean_tag(name)] = plain
    return found


def _plain(value: Any) -> object:
    """A ``google.protobuf.Value`` as number, bool or text."""
    kind = value.WhichOneof("kind")
    if kind in ("number_value", "bool_value"):
        return getattr(value, kind)
    if kind == "string_value":
        return clean_text(value.string_value[:MAX_TEXT])
    return None

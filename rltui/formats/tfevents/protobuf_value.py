"""Values of event files that TensorBoard's own messages decode: rare kinds of numbers, settings."""

from __future__ import annotations

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.util.tensor_util import make_ndarray

from rltui.formats.base import MAX_TEXT, clean_tag, clean_text

_MAX_NUMBER_BYTES = 256


def number_of(tensor: bytes) -> float | None:
    """The number of a tensor with one real element of any type, or None."""
    if len(tensor) > _MAX_NUMBER_BYTES:
        return None
    try:
        array = make_ndarray(TensorProto.FromString(tensor))
        return float(array.reshape(())) if array.size == 1 and array.dtype.kind in "fiub" else None
    except (DecodeError, TypeError, ValueError, KeyError, OverflowError):
        return None


def hparams_of(content: bytes) -> dict[str, object]:
    """Hyperparameters of a ``_hparams_/session_start_info`` record; empty for other records."""
    try:
        message = HParamsPluginData.FromString(content)
    except DecodeError:
        return {}

    found: dict[str, object] = {}
    for name, value in message.session_start_info.hparams.items():
        kind = value.WhichOneof("kind")
        if kind in ("number_value", "bool_value"):
            found[clean_tag(name)] = getattr(value, kind)
        elif kind == "string_value":
            found[clean_tag(name)] = clean_text(value.string_value[:MAX_TEXT])
    return found

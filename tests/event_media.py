"""Histograms, pictures and curves as TensorBoard's own messages write them."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.util.tensor_util import make_tensor_proto

from tests.formats import encode

Values = NDArray[np.float64]


def record(step: int, *values: Summary.Value) -> bytes:
    event = Event(wall_time=1.78e9 + step, step=step, summary=Summary(value=values))
    return encode.frame(event.SerializeToString())


def histogram(tag: str, edges: Values, counts: Values) -> Summary.Value:
    """As ``add_histogram`` of torch and tensorboardX writes it."""
    proto = HistogramProto(min=edges[0], max=edges[-1], num=counts.sum())
    proto.bucket_limit.extend(edges[1:])
    proto.bucket.extend(counts)
    return Summary.Value(tag=tag, histo=proto)


def plugin(tag: str, name: str, tensor: TensorProto) -> Summary.Value:
    data = SummaryMetadata.PluginData(plugin_name=name)
    return Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=data), tensor=tensor)


def tensor_histogram(tag: str, edges: Values, counts: Values) -> Summary.Value:
    """As ``tf.summary.histogram`` writes it."""
    return plugin(
        tag, "histograms", make_tensor_proto(np.stack([edges[:-1], edges[1:], counts], 1))
    )


def curve(tag: str, precision: Values, recall: Values) -> Summary.Value:
    """As ``add_pr_curve`` of torch writes it."""
    rows = np.stack([recall, recall, recall, recall, precision, recall])
    tensor = TensorProto(dtype="DT_FLOAT", float_val=rows.ravel())
    return plugin(tag, "pr_curves", tensor)


def png(pixels: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    out = BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def picture(tag: str, encoded: bytes) -> Summary.Value:
    """As ``add_image`` of torch writes it; the size that it gives is not believed."""
    image = Summary.Image(height=1 << 30, width=1 << 30, encoded_image_string=encoded)
    return Summary.Value(tag=tag, image=image)


def pictures(tag: str, *encoded: bytes) -> Summary.Value:
    """As ``tf.summary.image`` writes a batch."""
    return plugin(tag, "images", make_tensor_proto([b"640", b"480", *encoded]))

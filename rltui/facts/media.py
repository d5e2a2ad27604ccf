"""Histograms, pictures and curves of a run, read from their places in its logs when looked at."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rltui.core.installation import to_add
from rltui.files.disk import opened
from rltui.files.trouble import reason_of
from rltui.formats.tfevents.media import Histogram, Media, media_in
from rltui.formats.tracker_log.media import media_in as wandb_media_in
from rltui.store.media import Kept, MediaKey

#: (height, width, 3) red, green and blue.
Pixels = NDArray[np.uint8]
_GONE = "its place in the log holds something else by now"
#: Pixels of a picture that is decoded: larger ones may be made to fill the memory.
_MOST_PIXELS = 1 << 24
#: Bytes of a record, however many a remote reader says.
_MOST_BYTES = 1 << 23
_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")


def read_media(key: MediaKey, places: Sequence[Kept]) -> dict[Kept, Media | str]:
    """The value at each place, or why there is none. Reads files, on any thread."""
    found: dict[Kept, Media | str] = {}
    by_path: dict[Path, list[Kept]] = {}
    for place in places:
        by_path.setdefault(place.path, []).append(place)
    for path, its_places in by_path.items():
        found |= _read(path, key, its_places)
    return found


def _read(path: Path, key: MediaKey, places: Sequence[Kept]) -> dict[Kept, Media | str]:
    found: dict[Kept, Media | str] = {}
    try:
        with opened(path) as read:
            for place in places:
                record = read(min(place.length, _MOST_BYTES), place.offset)
                if path.suffix == ".wandb":
                    value = _of_wandb(path, wandb_media_in(record, place.offset, *key))
                else:
                    value = media_in(record, *key, place.step)
                found[place] = _GONE if value is None else value
    except OSError as error:
        words = f"cannot be read: {reason_of(error)}"
        return {place: found.get(place, words) for place in places}

    return found


def _of_wandb(path: Path, value: Histogram | str | None) -> Media | None:
    """A value of a W&B log; that of an image is a path below ``files``, which must stay there."""
    if not isinstance(value, str):
        return value
    folder = path.parent / "files"
    image = folder / value
    if ".." in image.parts or folder not in image.parents or image.suffix not in _SUFFIXES:
        return None
    try:
        with opened(image) as read:
            return read(_MOST_BYTES, 0)
    except ValueError:  # no path: with a NUL, or half a letter
        return None


def pixels_of(encoded: bytes, width: int, height: int) -> Pixels | str:
    """A picture fitted into so many pixels, never enlarged by other than whole factors; or why it
    cannot be shown."""
    if find_spec("PIL") is None:
        return f"Pictures need Pillow: {to_add('pillow')}"
    from PIL import Image  # optional, and heavy

    try:
        with Image.open(BytesIO(encoded), formats=_FORMATS) as image:
            across, down = image.size
            if across * down > _MOST_PIXELS:
                return f"{across:,} x {down:,} pixels are too many to be shown"
            share = min(width / across, height / down)
            share = float(int(share)) if share >= 1 else share
            size = max(1, int(across * share)), max(1, int(down * share))
            shown = image.convert("RGBA")
            ground = Image.new("RGBA", shown.size, (0, 0, 0, 255))
            flat = Image.alpha_composite(ground, shown).convert("RGB")
            how = Image.Resampling.NEAREST if share >= 1 else Image.Resampling.BOX
            return np.asarray(flat.resize(size, how))
    except (OSError, ValueError, SyntaxError, EOFError, IndexError):
        return "The picture is broken."
    except Image.DecompressionBombError:
        return "The picture has too many pixels to be shown."

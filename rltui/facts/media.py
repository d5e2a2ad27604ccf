"""Histograms, pictures and curves of a run, read from their places in its logs when looked at."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rltui.core.installation import to_add
from rltui.core.media import Histogram, Media
from rltui.files.disk import opened
from rltui.files.trouble import reason_of
from rltui.formats.tfevents.media import media_in
from rltui.formats.tracker_log.media import media_in as wandb_media_in
from rltui.store.media import Kept, MediaKey

if TYPE_CHECKING:
    import PIL.Image

_GONE = "its place in the log holds something else by now"
#: Pixels of a picture that is decoded, and of a side: larger ones may be made to fill the memory.
_MOST_PIXELS = 1 << 24
_MOST_SIDE = 1 << 15
#: Bytes of a record or an image, however many a remote reader says.
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
                if place.length > _MOST_BYTES:
                    found[place] = f"{place.length:,} bytes are too many to be shown"
                    continue
                record = read(place.length, place.offset)
                if path.suffix == ".wandb":
                    value = _of_wandb(path, wandb_media_in(record, place.offset, *key))
                else:
                    value = media_in(record, *key, place.step)
                found[place] = _GONE if value is None else value
    except OSError as error:
        return {place: found.get(place, reason_of(error)) for place in places}

    return found


def _of_wandb(log: Path, value: Histogram | list[str] | None) -> Media | None:
    """A value of a W&B log; those of images are paths below ``files``, which must stay there."""
    if not isinstance(value, list):
        return value
    folder = log.parent / "files"
    images = tuple(folder / name for name in value)
    stay = all(folder in i.parents and ".." not in i.parts for i in images)
    return images if stay and all(i.suffix in _SUFFIXES for i in images) else None


class Pixels(NamedTuple):
    """A picture that fills whole cells of a terminal."""

    image: PIL.Image.Image
    """In red, green and blue."""
    halves: NDArray[np.uint8]
    """Picture at two pixels a cell: (2 * rows, columns, 3)."""


def pixels_of(
    picture: bytes | Path, columns: int, rows: int, cell: tuple[int, int] = (1, 2)
) -> Pixels | str:
    """An encoded picture, or that of a file, fitted into so many cells of (width, height) pixels,
    never enlarged by other than whole factors; or why it cannot be shown."""
    if find_spec("PIL") is None:
        return f"Pictures need Pillow: {to_add('pillow')}"
    from PIL import Image  # optional, and heavy

    try:
        if isinstance(picture, Path):
            with opened(picture) as read:
                picture = read(_MOST_BYTES, 0)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL, or half a letter
        return reason_of(error)
    try:
        with Image.open(BytesIO(picture), formats=_FORMATS) as image:
            across, down = image.size
            if across * down > _MOST_PIXELS or max(across, down) > _MOST_SIDE:
                return f"{across:,} x {down:,} pixels are too many to be shown"
            share = min(columns * cell[0] / across, rows * cell[1] / down)
            share = float(int(share)) if share >= 1 else share
            size = max(1, int(across * share)), max(1, int(down * share))
            shown = image.convert("RGBA")
            ground = Image.new("RGBA", shown.size, (0, 0, 0, 255))
            flat = Image.alpha_composite(ground, shown).convert("RGB")
            how = Image.Resampling.NEAREST if share >= 1 else Image.Resampling.BOX
            found = np.asarray(flat.resize(size, how))
        margins = (0, -size[1] % cell[1]), (0, -size[0] % cell[0]), (0, 0)
        whole = Image.fromarray(np.pad(found, margins, mode="edge"))
        halves = whole.width // cell[0], whole.height // cell[1] * 2
        return Pixels(whole, np.asarray(whole.resize(halves, Image.Resampling.BOX)))
    except Image.DecompressionBombError:
        return "The picture has too many pixels to be shown."
    except (OSError, ValueError, SyntaxError, EOFError, IndexError):
        return "The picture is broken."

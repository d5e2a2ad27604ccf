"""Files with which fuzzing begins: samples and fixtures of the tests, and what fuzzing kept."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rltui.formats import ALL_FORMATS
from rltui.formats.base import HEAD_BYTES, Format
from rltui.formats.gzip_log import SUFFIX, Gzipped
from tests.formats.sample import samples
from tests.places import FIXTURES

#: Inputs that reached new code, an archive for each format.
KEPT = FIXTURES / "fuzz"
_LARGEST = 1 << 18
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Seed:
    """A file and the format that claims it."""

    form: Format
    path: Path
    data: bytes


def key(form: Format) -> str:
    """The name of a format, different for its packed files."""
    return form.name + (SUFFIX if isinstance(form, Gzipped) else "")


def seeds_in(directories: Sequence[Path], formats: Sequence[Format] = ALL_FORMATS) -> list[Seed]:
    """The files below some directories that a format claims, not too long."""
    seeds = []
    for directory in directories:
        for path in sorted(p for p in directory.rglob("*") if p.is_file()):
            data = path.read_bytes()[:_LARGEST]
            for form in formats:
                if form.claims_name(path.name) and form.claims(path, data[:HEAD_BYTES]):
                    seeds.append(Seed(form, path, data))
                    break
    return seeds


def first_seeds(form: Format) -> list[Seed]:
    """Samples and fixtures of a format; packed they are both stored, which can be damaged so
    that most of it still unpacks, and deflated."""
    plain = [f for f in ALL_FORMATS if key(f) == form.name]
    found = [Seed(s.form, Path(s.path), s.data) for s in samples() if s.format == form.name]
    found += seeds_in([FIXTURES], plain)
    if not isinstance(form, Gzipped):
        return found
    return [
        Seed(form, s.path.with_name(s.path.name + SUFFIX), gzip.compress(s.data, level, mtime=0))
        for s in found
        for level in (0, 6)
    ]


def path_for(data: bytes, seeds: Sequence[Seed]) -> Path:
    """One of the names of some seeds, always the same for the same bytes."""
    paths = sorted({seed.path for seed in seeds})
    return paths[hashlib.sha256(data).digest()[0] % len(paths)]


def kept(form: Format) -> list[bytes]:
    """What fuzzing kept of a format."""
    archive = KEPT / f"{key(form)}.zip"
    if not archive.exists():
        return []
    with zipfile.ZipFile(archive) as entries:
        return [entries.read(name) for name in entries.namelist()]


def keep(form: Format, inputs: Iterable[bytes]) -> Path:
    """Write the archive of a format; the same inputs give the same bytes."""
    KEPT.mkdir(parents=True, exist_ok=True)
    archive = KEPT / f"{key(form)}.zip"
    named = {hashlib.sha256(data).hexdigest()[:12]: data for data in inputs}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as entries:
        for name, data in sorted(named.items()):
            entries.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return archive

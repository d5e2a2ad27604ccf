"""Real servers on this machine that hold files: each a :class:`Shelf` with its address."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import quote
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

_START_TRIES = 600
#: The account that every Azurite has, and its key, as its documentation gives them.
_AZURITE = (
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
)


def need_extra(*modules: str) -> None:
    """Skip the test without the extra that has these modules."""
    for module in modules:
        pytest.importorskip(module, reason="the extra remote is not installed")


class Shelf(Protocol):
    """Files of a server, written past rltui."""

    address: str

    def put(self, name: str, data: bytes) -> None:
        """Write a file anew."""

    def append(self, name: str, data: bytes) -> None:
        """Append to a file."""

    def delete(self, name: str) -> None:
        """Delete a file."""


class MemoryShelf:
    """``memory://``."""

    def __init__(self) -> None:
        need_extra("fsspec")
        import fsspec

        self._fs = fsspec.filesystem("memory")
        self.address = f"memory://{uuid4().hex}/runs"

    def put(self, name: str, data: bytes) -> None:
        self._fs.pipe_file(f"{self.address}/{name}", data)

    def append(self, name: str, data: bytes) -> None:
        self.put(name, self._fs.cat_file(f"{self.address}/{name}") + data)

    def delete(self, name: str) -> None:
        self._fs.rm(f"{self.address}/{name}")


class FolderShelf:
    """A directory that a server shows."""

    def __init__(self, folder: Path, address: str) -> None:
        self.address, self._folder = address, folder

    def put(self, name: str, data: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def append(self, name: str, data: bytes) -> None:
        with (self._folder / name).open("ab") as file:
            file.write(data)

    def delete(self, name: str) -> None:
        (self._folder / name).unlink()


class S3Shelf:
    """A bucket of moto's server."""

    def __init__(self, url: str) -> None:
        import boto3

        self._client = boto3.client("s3", endpoint_url=url)
        self._bucket = uuid4().hex
        self._client.create_bucket(Bucket=self._bucket)
        self.address = f"s3://{self._bucket}/runs"

    def put(self, name: str, data: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=f"runs/{name}", Body=data)

    def append(self, name: str, data: bytes) -> None:
        got = self._client.get_object(Bucket=self._bucket, Key=f"runs/{name}")
        self.put(name, got["Body"].read() + data)

    def delete(self, name: str) -> None:
        self._client.delete_object(Bucket=self._bucket, Key=f"runs/{name}")


class GcsShelf:
    """A bucket of the emulator of Google Cloud Storage."""

    def __init__(self, url: str) -> None:
        self._url, self._bucket = url, uuid4().hex
        self._call("POST", "/storage/v1/b", json.dumps({"name": self._bucket}).encode())
        self.address = f"gs://{self._bucket}/runs"

    def put(self, name: str, data: bytes) -> None:
        query = f"uploadType=media&name={quote(f'runs/{name}', safe='')}"
        self._call("POST", f"/upload/storage/v1/b/{self._bucket}/o?{query}", data)

    def append(self, name: str, data: bytes) -> None:
        self.put(name, self._call("GET", f"{self._place(name)}?alt=media") + data)

    def delete(self, name: str) -> None:
        self._call("DELETE", self._place(name))

    def _place(self, name: str) -> str:
        return f"/storage/v1/b/{self._bucket}/o/{quote(f'runs/{name}', safe='')}"

    def _call(self, method: str, place: str, data: bytes | None = None) -> bytes:
        kind = "application/json" if place.endswith("/b") else "application/octet-stream"
        request = Request(self._url + place, data, {"Content-Type": kind}, method=method)
        with urlopen(request) as answer:
            return bytes(answer.read())


class AzureShelf:
    """A container of Azurite."""

    def __init__(self, connection: str) -> None:
        from azure.storage.blob import BlobServiceClient

        name, client = uuid4().hex, BlobServiceClient.from_connection_string(connection)
        self._container = client.create_container(name)
        self.address = f"abfs://{name}/runs"

    def put(self, name: str, data: bytes) -> None:
        self._container.upload_blob(f"runs/{name}", data, overwrite=True)

    def append(self, name: str, data: bytes) -> None:
        self.put(name, self._container.download_blob(f"runs/{name}").readall() + data)

    def delete(self, name: str) -> None:
        self._container.delete_blob(f"runs/{name}")


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a local S3; skips where moto or s3fs is missing."""
    for module in ("s3fs", "moto", "flask"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(command, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def gcs_server() -> Iterator[str]:
    """The address of a local Google Cloud Storage; skips where its emulator or gcsfs is missing."""
    for module in ("gcsfs", "gcp_storage_emulator"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    port = free_port()
    serve = "import sys; from gcp_storage_emulator.__main__ import main; main(sys.argv[1:])"
    options = ["start", "--in-memory", "--host", "127.0.0.1", "--port", str(port)]
    with _running([sys.executable, "-c", serve, *options], port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def azure_server(folder: Path) -> Iterator[str]:
    """How to connect to a local Azure Blob Storage; skips without Azurite (npm) or adlfs."""
    pytest.importorskip("adlfs", reason="adlfs is not installed")
    azurite = shutil.which("azurite-blob")
    if azurite is None:
        pytest.skip("Azurite is not installed")
    port = free_port()
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
    quiet = ["--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    with _running([azurite, *options, *quiet], port):
        yield (
            f"DefaultEndpointsProtocol=http;AccountName={_AZURITE[0]};AccountKey={_AZURITE[1]};"
            f"BlobEndpoint=http://127.0.0.1:{port}/{_AZURITE[0]};"
        )


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    """A server of a command, once it answers at a port."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            ended = threading.Event()
            for _ in range(_START_TRIES):
                if process.poll() is not None:
                    pytest.skip(f"{command[0]} does not start here")
                with socket.socket() as probe:
                    if not probe.connect_ex(("127.0.0.1", port)):
                        break
                ended.wait(0.05)
            yield
        finally:
            process.terminate()


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

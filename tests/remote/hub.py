"""As much of the API of the Hugging Face Hub as reading a repository takes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


@contextmanager
def hub_server(folder: Path, repository: str) -> Iterator[str]:
    """The endpoint of a Hub with a repository that has the files of a directory."""
    with _Hub(folder, repository) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class _Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, repository: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.repository = folder, repository


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        place, repository = unquote(urlsplit(self.path).path), self.server.repository
        api = f"/api/models/{repository}"
        listed = self._below(place, f"{api}/tree/main")
        file = self._below(place, f"/{repository}/resolve/main/")
        if place in (api, f"{api}/revision/main"):
            self._send(200, {"id": repository, "sha": "0" * 40, "private": False})
        elif listed is not None and listed.is_dir():
            self._send(200, [self._entry(path) for path in sorted(listed.iterdir())])
        elif file is not None and file.is_file():
            self._send_file(file.read_bytes())
        else:
            self._send(404, {}, **{"X-Error-Code": "EntryNotFound"})

    def _below(self, place: str, above: str) -> Path | None:
        """The path in the repository that an address names."""
        rest = place.removeprefix(above)
        return None if rest == place else self.server.folder / rest.strip("/")

    def _entry(self, path: Path) -> dict[str, object]:
        kind, size = ("directory", 0) if path.is_dir() else ("file", path.stat().st_size)
        name = str(path.relative_to(self.server.folder))
        return {"type": kind, "path": name, "size": size, "oid": f"{size:040}"}

    def _send_file(self, data: bytes) -> None:
        begin, _, end = (self.headers.get("Range") or "bytes=0-").partition("=")[2].partition("-")
        piece = data[int(begin) : int(end) + 1 if end else None]
        if not piece:
            self._send(416, b"")
            return
        span = f"bytes {begin}-{int(begin) + len(piece) - 1}/{len(data)}"
        self._send(206, piece, **{"Content-Range": span})

    def _send(self, code: int, answer: Any, **headers: str) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(code)
        kind = "text/plain" if isinstance(answer, bytes) else "application/json"
        headers |= {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass

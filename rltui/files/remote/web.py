"""HTTP with bounds on every response: servers may be broken or hostile. Imported when used.

- Listings and whole files are read up to a size, ranges up to what was requested.
- No compression is requested; compressed bodies are unpacked up to a size and a factor.
- A request to a silent or extremely slow server fails.
- Redirects to another host are followed to https only and without credentials; from a public host
  they never lead to an address of this machine or of a private network, whatever its name is. A
  server on this machine may redirect to another one on it.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import zlib
from collections.abc import AsyncIterator, Generator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from itertools import islice
from typing import Any

import aiohttp
from aiohttp.abc import ResolveResult
from fsspec.implementations.http import HTTPFileSystem
from yarl import URL

from rltui.files.remote.errors import BoundError, StoreError
from rltui.files.remote.server import MOST_NAMES

#: Bytes of a list of names, and of a file that is read whole.
MOST_LISTED, MOST_WHOLE = 16 << 20, 64 << 20
#: Most unpacked bytes for each packed one, and unpacked bytes that are allowed in any case.
MOST_UNPACKED, FREE_UNPACKED = 100, 1 << 16
#: Seconds without a byte, or until an answer begins.
QUIET_S = 30.0
#: Least bytes a second of a response.
_LEAST_PACE = 1024
_MOST_REDIRECTS = 5
_PIECE = 1 << 16
_REDIRECTS = (301, 302, 303, 307, 308)
#: Headers that go to other servers than the one that was named.
_HARMLESS = ("range", "accept-encoding")
_ANCHOR = re.compile(r"<[aA]\s[^<>]{1,4096}")
_HREF = re.compile(r"""\s(?:href|HREF)=["']([^"']+)""")
_BARE = re.compile(r"https?://[-a-zA-Z0-9@:%_+.~#?&/=]{1,4096}")
#: Prefixes of addresses that hold one of IPv4 in their last bytes.
_TRANSLATED = IPv6Network("64:ff9b::/96")
Address = IPv4Address | IPv6Address


class BoundedWeb(HTTPFileSystem):  # type: ignore[misc]
    """fsspec's HTTP file system over a :class:`BoundedSession`."""

    cachable = False

    def __init__(self, **options: Any) -> None:
        self.noted: dict[str, str] = {}
        """Address of a listing -> why not all of it was read."""
        self.requests = 0
        """Sent so far."""
        self.sent_whole = False
        """Whether it sent a whole file where a range was asked for."""
        super().__init__(**options, get_client=self._client)

    async def _client(self, **options: Any) -> BoundedSession:
        return BoundedSession(self, options)


class Resolver(aiohttp.ThreadedResolver):  # type: ignore[misc]
    """Resolves host names. A ``strict`` one refuses hosts with an address that is not public."""

    def __init__(self, known: dict[str, set[Address]], *, strict: bool) -> None:
        """``known`` is filled: host -> its addresses."""
        super().__init__()
        self._known = known
        self._strict = strict

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a host. Raises OSError."""
        found: list[ResolveResult] = await super().resolve(host, port, family)
        for result in found:
            address = ip_address(result["host"].partition("%")[0])
            self._known.setdefault(host, set()).add(address)
            if self._strict and not is_public(address):
                raise BoundError(errno.EACCES, f"leads to {host}, which is no public host")
        return found


def is_public(address: Address) -> bool:
    """Whether an address is public; IPv4 addresses within IPv6 ones count as themselves."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address.teredo is not None:
            inner = address.teredo[1]
        if address in _TRANSLATED:
            inner = IPv4Address(address.packed[-4:])
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


class BoundedSession:
    """A bounded stand-in for aiohttp's session, used by fsspec in its event loop."""

    def __init__(self, web: BoundedWeb, options: dict[str, Any]) -> None:
        self.web = web
        self._known: dict[str, set[Address]] = {}
        """Host -> its addresses."""
        self._own = _session(Resolver(self._known, strict=False), options)
        """For the server that the user named, with the user's options, credentials among them."""
        self._others: dict[bool, aiohttp.ClientSession] = {}
        """Strict or not -> session for targets of redirects; those of public servers are strict."""

    def get(self, url: URL, **options: Any) -> _PendingRequest:
        """GET, redirects followed."""
        return _PendingRequest(self, "GET", url, options)

    def head(self, url: URL, **options: Any) -> _PendingRequest:
        """HEAD, redirects followed."""
        return _PendingRequest(self, "HEAD", url, options)

    @property
    def _connector(self) -> BoundedSession:
        """What fsspec closes when its loop is gone."""
        return self

    def _close(self) -> None:
        for session in (self._own, *self._others.values()):
            if session.connector is not None:
                session.connector._close()

    async def close(self) -> None:
        """End all connections."""
        for session in (self._own, *self._others.values()):
            await session.close()

    async def answer(self, method: str, url: URL | str, options: dict[str, Any]) -> Response:
        """The response at the end of all redirects. Raises OSError and errors of aiohttp."""
        options.pop("allow_redirects", None)
        at = start = URL(url)
        headers = {"Accept-Encoding": "identity", **(options.pop("headers", None) or {})}
        session = self._own
        strict = False
        for _ in range(_MOST_REDIRECTS + 1):
            # the user's options, credentials among them, go to the named server only
            more = options if session is self._own else {}
            own = headers
            if session is not self._own:
                own = {k: v for k, v in own.items() if k.lower() in _HARMLESS}
            asked = session.request(method, at, allow_redirects=False, headers=own, **more)
            self.web.requests += 1
            try:
                got = await asyncio.wait_for(asked, QUIET_S)
            except asyncio.TimeoutError:
                raise StoreError(errno.ETIMEDOUT, f"no answer for {QUIET_S:g} s") from None
            target = got.headers.get("Location") if got.status in _REDIRECTS else None
            if target is None:
                return Response(got, self.web, str(url))
            got.close()
            strict = strict or any(map(is_public, self._addresses(at)))
            try:
                leads = at.join(URL(target)).with_user(None).with_fragment(None)
            except ValueError:
                raise BoundError(errno.EINVAL, "redirects to what is no web address") from None
            if leads.origin() != start.origin() or session is not self._own:
                self._check(at, leads, strict=strict)
                if strict not in self._others:
                    self._others[strict] = _session(Resolver(self._known, strict=strict), {})
                session = self._others[strict]
            at = leads
        raise BoundError(errno.ELOOP, f"redirects more than {_MOST_REDIRECTS} times")

    def _check(self, at: URL, leads: URL, *, strict: bool) -> None:
        """Raise BoundError for a redirect that is not followed."""
        host = leads.host or ""
        address = _literal(host)
        here = host == "localhost" or (address is not None and address.is_loopback)
        before = self._addresses(at)
        from_here = bool(before) and all(a.is_loopback for a in before)
        if leads.scheme != "https" and not (leads.scheme == "http" and here and from_here):
            raise BoundError(errno.EACCES, f"redirects to {leads.scheme}://{host}: only https is")
        if strict and (here or (address is not None and not is_public(address))):
            raise BoundError(errno.EACCES, f"redirects to {host}, which is no public host")

    def _addresses(self, url: URL) -> set[Address]:
        host = url.host or ""
        address = _literal(host)
        return self._known.get(host, set()) if address is None else {address}


def _session(resolver: Resolver, options: dict[str, Any]) -> aiohttp.ClientSession:
    given = {
        "connector": aiohttp.TCPConnector(resolver=resolver),
        "timeout": aiohttp.ClientTimeout(total=None),  # each wait has its own
        "auto_decompress": False,
        **options,
    }
    return aiohttp.ClientSession(**given)


class _PendingRequest:
    """A request that is sent when it is awaited or entered."""

    def __init__(
        self, session: BoundedSession, method: str, url: URL, options: dict[str, Any]
    ) -> None:
        self._asked = session, method, url, options
        self._answer: Response | None = None

    async def _ask(self) -> Response:
        session, method, url, options = self._asked
        return await session.answer(method, url, options)

    def __await__(self) -> Generator[Any, None, Response]:
        return self._ask().__await__()

    async def __aenter__(self) -> Response:
        self._answer = await self._ask()
        return self._answer

    async def __aexit__(self, *_: object) -> None:
        if self._answer is not None:
            await self._answer.__aexit__()


class Response:
    """A response whose body is read on demand and within bounds."""

    def __init__(self, got: aiohttp.ClientResponse, web: BoundedWeb, name: str) -> None:
        self._got, self._web, self._name = got, web, name
        self.status, self.headers, self.url = got.status, got.headers, got.url
        self.raise_for_status = got.raise_for_status

    async def __aenter__(self) -> Response:
        return self

    async def __aexit__(self, *_: object) -> None:
        # a body that was not read to its end would be drained otherwise
        if not self._got.content.at_eof():
            self._got.close()
        self._got.release()

    async def text(self, **_: object) -> str:
        """The links of a listing as a minimal HTML page."""
        page, whole = await self._body(0, MOST_LISTED)
        if not whole:
            self._web.noted[self._name] = f"lists more than {MOST_LISTED >> 20} MB of names"
        text = page.decode("utf-8", "ignore")
        found = (_HREF.search(anchor[0]) for anchor in _ANCHOR.finditer(text))  # in linear time
        named = [link[1] for link in found if link is not None]
        named += [bare[0] for bare in _BARE.finditer(text)]
        links = islice(dict.fromkeys(named), MOST_NAMES + 1)
        return "".join(f'<a href="{link}">\n' for link in links)

    async def read(self) -> bytes:
        """A file, or the range of it that was requested."""
        if self.status >= 400:
            return b""
        asked = self._got.request_info.headers.get("Range", "").removeprefix("bytes=")
        first, _, last = asked.partition("-")
        begin, end = int(first or 0), int(last) + 1 if last else None
        if end is None:
            data, whole = await self._body(begin if self.status != 206 else 0, MOST_WHOLE)
            if not whole:
                raise BoundError(errno.EFBIG, f"is larger than {MOST_WHOLE >> 20} MB")
            return data
        if self.status == 206:
            return (await self._body(0, end - begin))[0]
        data, whole = await self._body(begin, end - begin)
        self._web.sent_whole = self._web.sent_whole or begin > 0 or not whole
        return data

    async def _body(self, skipped: int, most: int) -> tuple[bytes, bool]:
        """At most ``most`` bytes after the ``skipped`` ones, and whether the body ended there."""
        found = bytearray()
        async for piece in self._unpacked():
            cut = min(skipped, len(piece))
            skipped -= cut
            found += piece[cut:]
            if len(found) > most:
                return bytes(found[:most]), False
        return bytes(found), True

    async def _unpacked(self) -> AsyncIterator[bytes]:
        how = self.headers.get("Content-Encoding", "identity").strip().lower()
        packed = how in ("gzip", "x-gzip", "deflate")
        if not packed and how not in ("identity", ""):
            raise BoundError(errno.EINVAL, f"comes packed by {how[:20]}, which was not asked for")
        # of a file that is packed itself, and of a range, the bytes as they are
        if not packed or self.status == 206 or self._name.endswith(".gz"):
            async for piece in self._pieces():
                yield piece
            return
        unpack, taken, given = zlib.decompressobj(32 + zlib.MAX_WBITS), 0, 0
        async for piece in self._pieces():
            taken += len(piece)
            while piece and not unpack.eof:
                out = unpack.decompress(piece, _PIECE)
                given, piece = given + len(out), unpack.unconsumed_tail
                if given > FREE_UNPACKED + MOST_UNPACKED * taken:
                    many = f"unpacks to more than {MOST_UNPACKED} times its size"
                    raise BoundError(errno.EFBIG, many)
                yield out

    async def _pieces(self) -> AsyncIterator[bytes]:
        """The bytes as they arrive. Raises StoreError when the server is silent or too slow."""
        loop, came = asyncio.get_running_loop(), 0
        until = begun = loop.time() + QUIET_S
        while True:
            left = max(0.0, min(QUIET_S, until - loop.time()))
            try:
                piece = await asyncio.wait_for(self._got.content.readany(), left)
            except asyncio.TimeoutError:
                slow = "nothing" if loop.time() < until else f"less than {_LEAST_PACE} bytes/s"
                raise StoreError(errno.ETIMEDOUT, f"{slow} came for {QUIET_S:g} s") from None
            if not piece:
                return
            came += len(piece)
            until = begun + came / _LEAST_PACE
            yield piece

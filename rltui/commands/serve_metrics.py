"""``rltui serve-metrics``: verdicts for Prometheus, over HTTP."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing

from rltui.commands.command import (
    Command,
    Exit,
    add_logdirs,
    add_reading,
    open_config,
    open_session,
    report_trouble,
)
from rltui.commands.departure import departing
from rltui.commands.standard_input import is_piped, kept_open, need_pipe
from rltui.commands.standard_output import tell


def _address(text: str) -> tuple[str, int]:
    """The type of ``--listen``: ``ADDR:PORT``, ``[ADDR]:PORT``, or ``PORT`` on the loopback."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not ADDR:PORT")
    if len(port) > 5 or int(port) >= 1 << 16:
        raise argparse.ArgumentTypeError(f"{port}: ports go up to 65535")
    return host.strip("[]") or "127.0.0.1", int(port)


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_logdirs(parser)
    parser.add_argument(
        "--listen",
        metavar="ADDR:PORT",
        type=_address,
        default=("127.0.0.1", 9709),
        help="default 127.0.0.1:9709, which only this machine reaches; port 0 takes a free one",
    )
    add_metrics(parser)
    add_reading(parser)


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """The option that chooses the metrics whose values are given."""
    parser.add_argument(
        "--metric",
        dest="metrics",
        action="append",
        default=[],
        metavar="KEY",
        help="newest value of this metric of the catalogue; several times; default: headlines",
    )


def check_metrics(keys: list[str]) -> None:
    """Raises UsageError for a key that the catalogue does not have."""
    from rltui.catalogue import load_catalogue
    from rltui.core.errors import UsageError
    from rltui.core.yaml_document import nearest

    known = load_catalogue().metrics if keys else {}
    for key in keys:
        if key not in known:
            raise UsageError(f"no metric {key!r} in the catalogue", hint=nearest(key, known))


def _run(options: argparse.Namespace) -> int:
    return departing(lambda _: _open_and_serve(options), sys.stderr, debugged=options.debug)


def _open_and_serve(options: argparse.Namespace) -> int:
    if not is_piped(options):
        return _serve(options)
    with kept_open(0):
        need_pipe()
        return _serve(options)


def _serve(options: argparse.Namespace) -> int:
    from rltui.commands.metrics_server import MetricsServer
    from rltui.output.openmetrics import openmetrics
    from rltui.session.event import turns

    check_metrics(options.metrics)
    session = open_session(options, open_config(options), waits=True, partial=True)
    report_trouble(session)

    def page() -> bytes:
        return openmetrics(session, options.metrics).encode()

    try:
        with MetricsServer(options.listen) as server:
            tell(f"rltui: serving {server.url}\n")
            with closing(turns(session, wake=server.asked)) as each:
                for _ in each:
                    if not session.busy:
                        server.answer(page)
            server.end(page)
    except KeyboardInterrupt:
        pass
    return Exit.OK


COMMAND = Command(
    "serve-metrics",
    "serve verdicts to Prometheus, on this machine only by default",
    "rltui serve-metrics runs/ --listen 127.0.0.1:9709",
    _arguments,
    _run,
)

"""The only module that imports Ray: connects to a cluster, lists its nodes, calls actors."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RuntimeEnvSetupError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import rltui.version
from rltui.core.address import AUTO
from rltui.core.errors import RltuiError
from rltui.core.text import clean
from rltui.remote.ray.node_reader import ClusterError, CodeMissingError, Node

_CLIENT_PORT = 10001
_NOTHING_HERE = "RAY_ADDRESS is not set, and no cluster of Ray runs on this machine"
#: Seconds for the head to accept a connection; Ray itself would try for minutes.
_CONNECT_S = 5.0
#: Calls of an actor that may be under way.
_CALLS = 64


class Cluster:
    """A connection to a cluster that runs already."""

    def __init__(self, address: str) -> None:
        """``address``: ``auto``, or HOST:PORT of the Ray Client server. Raises ClusterError."""
        self._address = os.environ.get("RAY_ADDRESS") or AUTO
        if address != AUTO:
            _, colon, port = address.rpartition(":")
            whole = colon and port.isdigit()
            self._address = f"ray://{address}" if whole else f"ray://{address}:{_CLIENT_PORT}"
        self._ships = False
        self._connect()

    def _connect(self) -> None:
        host, _, port = self._address.removeprefix("ray://").rpartition(":")
        if port.isdigit():
            try:
                socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
            except OSError as error:
                reason = clean(error.strerror or str(error))
                raise ClusterError(f"no cluster of Ray at {host}:{port}: {reason}") from None

        code = {"py_modules": [str(Path(rltui.version.__file__).parent)]}
        try:
            ray.init(
                self._address,
                namespace="rltui",
                logging_level="CRITICAL",
                log_to_driver=False,
                configure_logging=False,
                runtime_env=code if self._ships else None,
            )
        except Exception as error:
            if self._address == AUTO and isinstance(error, ConnectionError):
                raise ClusterError(_NOTHING_HERE) from None
            raise ClusterError(f"no cluster of Ray can be reached: {_text(error)}") from error

    def ship_code(self) -> bool:
        """Reconnect so that Ray copies rltui to the nodes; False if done before."""
        if self._ships:
            return False
        self._ships = True
        ray.shutdown()
        self._connect()
        return True

    def nodes(self) -> dict[str, Node]:
        """The nodes that are alive, by id. Raises ClusterError."""
        try:
            alive = [n for n in ray.nodes() if n["Alive"]]
        except Exception as error:
            raise ClusterError(f"the cluster does not answer: {_text(error)}") from error
        found = {}
        for node in alive:
            name = str(node.get("NodeName") or "")
            address = str(node["NodeManagerAddress"])
            if name in ("", address):  # Ray's default
                name = str(node.get("NodeManagerHostname") or address)
            found[node["NodeID"]] = Node(node["NodeID"], clean(name))
        return found

    def actor(self, node: Node, cls: type, *arguments: object) -> Any:
        """An actor on a node; no error shows before its first call."""
        where = NodeAffinitySchedulingStrategy(node.id, soft=False)
        options = {
            "num_cpus": 0,
            "scheduling_strategy": where,
            "max_restarts": 0,
            "max_concurrency": _CALLS,
        }
        return ray.remote(cls).options(**options).remote(*arguments)

    def call(self, actor: Any, method: str, values: Sequence[object], timeout_s: float) -> Any:
        """Call a method of an actor. Raises ClusterError with the reason, for people."""
        return self.result(getattr(actor, method).remote(*values), timeout_s)

    def function(self, function: Any, num_cpus: float = 1.0) -> Any:
        """A remote function."""
        return ray.remote(function).options(num_cpus=num_cpus, max_retries=2)

    def cores(self) -> int:
        """Of the whole cluster."""
        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def wait(self, calls: Sequence[Any], timeout_s: float) -> list[Any]:
        """The calls that have ended: at least one, unless ``timeout_s`` passes first."""
        if not calls:
            time.sleep(timeout_s)
            return []
        return list(ray.wait(list(calls), num_returns=1, timeout=timeout_s)[0])

    def result(self, call: Any, timeout_s: float | None = None) -> Any:
        """What a call returned. Raises ClusterError with the reason, for people."""
        try:
            return ray.get(call, timeout=timeout_s)
        except GetTimeoutError as error:
            raise ClusterError("it does not answer") from error
        except RuntimeEnvSetupError as error:
            raise ClusterError(f"Ray cannot copy rltui there: {_text(error)}") from error
        except Exception as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, RltuiError):
                raise ClusterError(str(cause)) from error
            lines = [x.strip() for x in str(error).splitlines()]
            missing = [x for x in lines if x.startswith(("ModuleNotFoundError", "ImportError"))]
            if missing:
                what = f"rltui cannot run there: {clean(missing[-1])}"
                raise CodeMissingError(what) from error
            ended = isinstance(error, RayActorError)
            raise ClusterError("its reader ended" if ended else _text(cause or error)) from error

    def end(self, actors: Collection[Any]) -> None:
        """End actors."""
        for actor in actors:
            with suppress(Exception):
                ray.kill(actor)

    def close(self) -> None:
        """Disconnect; what was started ends."""
        with suppress(Exception):
            ray.shutdown()


def _text(error: BaseException) -> str:
    """The first line of what Ray says."""
    lines = [x.strip() for x in str(error).splitlines() if x.strip()]
    return clean(lines[0] if lines else type(error).__name__)[:300]

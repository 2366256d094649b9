"""The admin client of a sink in one process of the driver, kept from batch to batch.

Spark calls the sink in two processes, one before the tasks of a batch and one after them, and uses
both again for the next batch. Their clients and memories are kept, but nothing depends on them.
"""

import gc
import os
from collections.abc import Mapping
from typing import Final, TypeVar, cast

from cordwood.client.admin.admin_client import Admin
from cordwood.client.loop_thread import LoopThread
from cordwood.client.settings import ClientOptions, ClientSettings, options_of, shared_options
from cordwood.core.errors import AccessError
from cordwood.core.ports import Clock
from cordwood.core.system import SystemClock
from cordwood.spark.sink.exactly_once.batch_commit import CommitMemory
from cordwood.spark.sink.exactly_once.batch_preparation import DriverMemory
from cordwood.spark.sink.exactly_once.request_runner import RequestRunner
from cordwood.spark.sink.exactly_once.sink_requests import Steps

R = TypeVar("R")

_MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
#: Kafka's default of it, for a program that may not read the brokers' settings.
_DEFAULT_MAX_TIMEOUT_MS: Final = 900_000
#: Coordinators finish a transaction within milliseconds, so retries begin soon.
_SOON: Final = {"retry.backoff.ms": "10", "retry.backoff.max.ms": "200"}
_CLIENTS: Final[dict[object, "SinkClient"]] = {}


class SinkClient:
    """An admin client on a loop thread, which runs the steps of a sink."""

    def __init__(
        self, config: Mapping[str, object], *, record_topic: str | None, clock: Clock | None = None
    ) -> None:
        options = cast(
            "ClientOptions", options_of(ClientSettings, shared_options({**config, **_SOON}))
        )
        self.driver_memory = DriverMemory()
        self.commit_memory = CommitMemory()
        self._admin = Admin(**options)
        self._runner = RequestRunner(self._admin, clock or SystemClock(), record_topic=record_topic)
        self._thread = LoopThread("cordwood-sink")
        self._thread.run(self._admin.start())
        self._max_timeout_ms = 0

    def run(self, steps: Steps[R]) -> R:
        """Run steps of the protocol, and return their result."""
        return self._thread.run(self._runner.run(steps))

    def max_timeout_ms(self) -> int:
        """Return the longest transaction timeout that the brokers allow."""
        if not self._max_timeout_ms:
            self._max_timeout_ms = self._thread.run(_max_timeout_ms(self._admin))
        return self._max_timeout_ms

    def close(self) -> None:
        """Close the client and its thread."""
        self._thread.end(self._admin.close)


async def _max_timeout_ms(admin: Admin) -> int:
    cluster = await admin.describe_cluster()
    broker = str(cluster.brokers[0].node_id)
    try:
        found = await admin.describe_configs(("broker", broker), keys=[_MAX_TIMEOUT])
    except AccessError:
        return _DEFAULT_MAX_TIMEOUT_MS
    entry = found.entries.get(_MAX_TIMEOUT)
    return int((entry and entry.value) or _DEFAULT_MAX_TIMEOUT_MS)


def sink_client(config: Mapping[str, str], *, sink: str, record_topic: str | None) -> SinkClient:
    """Return the client of a sink in this process; a forked process makes its own."""
    key = (os.getpid(), tuple(sorted(config.items())), sink, record_topic)
    if key not in _CLIENTS:
        _CLIENTS[key] = SinkClient(config, record_topic=record_topic)
        # PySpark collects garbage after each call, which would look at all loaded code again.
        gc.collect()
        gc.freeze()
    return _CLIENTS[key]


def close_clients() -> None:
    """Close the clients of this process."""
    while _CLIENTS:
        _, client = _CLIENTS.popitem()
        client.close()

"""Bad clients and a good one at the same broker: the good one is not affected.

    half open     send half a frame, and never another byte
    slow          send their frames byte by byte
    abrupt        fetch records, and reset the connection before the response
    deaf          fetch records again and again, and never read a response
    idle          never send a byte

They stay connected while a producer and a consumer work; a ledger checks the records. The test
limits and prints the growth of the broker's memory.
"""

import os
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

import cordwood
from cordwood.client.network.in_flight_requests import InFlightRequests
from cordwood.core.types import TopicPartition
from cordwood.protocol.codec import joined
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from cordwood.protocol.schema import Request
from tests.robustness.ledger import Found, Ledgers
from tests.robustness.partitions import SEED, SETTINGS, WINDOW, create_topics, found_in
from tests.robustness.producing import SENDERS, producing
from tests.serving import PATIENCE_S, Serving, ended_with

IDLE: Final = 1_000
HALF_OPEN: Final = 50
SLOW: Final = 20
DEAF: Final = 20
ASKED_BY_DEAF: Final = 200
RECORDS: Final = 200_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 10_000
#: Of which the interpreter and what it has compiled take most.
ALLOWED_KB: Final = 300_000
BY_NAME: Final = 12
RESET: Final = struct.pack("ii", 1, 0)

pytestmark = pytest.mark.timeout(1200)


def frame(request: Request, version: int) -> bytes:
    return joined(InFlightRequests("bad").add(request, version)[1])


def everything(partition: TopicPartition) -> bytes:
    """Return the frame of a fetch of a whole partition."""
    wanted = FetchPartition(
        partition=partition.partition, fetch_offset=0, partition_max_bytes=1 << 30
    )
    topic = FetchTopic(topic=partition.topic, partitions=[wanted])
    return frame(FetchRequest(max_wait_ms=0, min_bytes=1, topics=[topic]), BY_NAME)


class BadClients:
    """The bad clients of one broker; the active ones run in threads until the end."""

    def __init__(self, bootstrap: str, partitions: list[TopicPartition]) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._address = (host, int(port))
        self._partitions = partitions
        self._is_over = threading.Event()
        self.resets = 0
        self.slow_bytes = 0

    @contextmanager
    def around(self) -> Iterator[None]:
        """Connect all clients."""
        half = everything(self._partitions[0])[:20]
        deaf = everything(self._partitions[0]) * ASKED_BY_DEAF
        with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
            for said, count in ((b"", IDLE), (half, HALF_OPEN), (deaf, DEAF)):
                for _ in range(count):
                    stack.enter_context(self._connect()).sendall(said)
            running = [pool.submit(self._be_slow), pool.submit(self._be_abrupt)]
            try:
                yield
            finally:
                self._is_over.set()
        for each in running:
            each.result()

    def _connect(self) -> socket.socket:
        return socket.create_connection(self._address, PATIENCE_S)

    def _be_slow(self) -> None:
        with ExitStack() as stack:
            slow = [stack.enter_context(self._connect()) for _ in range(SLOW)]
            for byte in cycle(frame(ApiVersionsRequest(), 0)):
                if self._is_over.wait(0.01):
                    return
                for each in slow:
                    each.send(bytes([byte]))
                self.slow_bytes += SLOW

    def _be_abrupt(self) -> None:
        while not self._is_over.is_set():
            for partition in self._partitions:
                with self._connect() as leaving:
                    leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    leaving.sendall(everything(partition))
                    leaving.recv(10)
                self.resets += 1


class ConsumerThread:
    """Consumes partitions from their beginning while producers write to them."""

    def __init__(self, bootstrap: str, partitions: list[TopicPartition]) -> None:
        self.found: dict[tuple[str, int], list[Found]] = {each: [] for each in partitions}
        self._consumer = cordwood.Consumer(bootstrap, auto_offset_reset="earliest")
        self._consumer.assign(partitions)

    def read(self, ledgers: Ledgers, is_written: threading.Event) -> None:
        """Consume until all records have been produced and read."""
        with self._consumer:
            while self._count() < ledgers.acknowledged or not is_written.is_set():
                for each in self._consumer.poll():
                    self.found[each.topic, each.partition].append(found_in(each))

    def _count(self) -> int:
        return sum(map(len, self.found.values()))


def test_working_client_is_not_affected_by_bad_ones(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    with ended_with(Serving(tmp_path, SETTINGS)) as broker, ThreadPoolExecutor(1) as pool:
        broker.start()
        partitions = create_topics(broker.address)
        ledgers = Ledgers(partitions, window=WINDOW)
        reader = ConsumerThread(broker.address, partitions)
        sender = SENDERS["own"](broker.address)
        crowd, is_written = BadClients(broker.address, partitions), threading.Event()
        with crowd.around():
            with producing(sender, ledgers, random.Random(SEED)):
                assert ledgers.wait_for(RECORDS // 2, PATIENCE_S)
                reading = pool.submit(reader.read, ledgers, is_written)
                assert ledgers.wait_for(RECORDS, PATIENCE_S)
            is_written.set()
            reading.result()
            resident_kb = broker.resident_kb
        report(
            f"bad clients: {IDLE} idle, {HALF_OPEN} half open, {DEAF} deaf, {crowd.slow_bytes} "
            f"bytes sent slowly, {crowd.resets} resets beside {ledgers.acknowledged} records "
            f"written and read; memory {resident_kb} KB"
        )

        assert resident_kb < ALLOWED_KB
        assert not any(ledger.given_up for ledger in ledgers.of.values())
        for partition, ledger in ledgers.of.items():
            assert len(reader.found[partition]) == ledger.sent
            assert ledger.compare(reader.found[partition]) == []
        assert broker.told("request failed") == 0
        assert broker.stop() == 0

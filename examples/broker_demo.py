"""The broker from a user's view: a process, clients, a kill half way, and no loss."""

import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cordwood

TOPIC = "orders"
SERVE = (sys.executable, "-c", "from cordwood.cli import main; main()", "serve")


def show_broker(orders: Iterable[tuple[bytes, bytes]]) -> None:
    """Produce, kill the broker half way, start it again, and count what is there at the end."""
    records = list(orders)
    with tempfile.TemporaryDirectory() as folder:
        address = f"127.0.0.1:{_free_port()}"
        with _serving(folder, address) as first, cordwood.Producer(address) as producer:
            began = time.perf_counter()
            half = len(records) // 2
            deliveries = [producer.send(TOPIC, value, key=key) for key, value in records[:half]]
            first.send_signal(signal.SIGKILL)
            first.wait()
            with _serving(folder, address):
                deliveries += [
                    producer.send(TOPIC, value, key=key) for key, value in records[half:]
                ]
                offsets = [delivery.result().offset for delivery in deliveries]
                seconds = time.perf_counter() - began
                found = Counter(_consumed(address, len(records)))
        assert found == Counter(records), "an order was lost, or is there twice"
        assert sorted(offsets) == list(range(len(records))), "an offset was given twice, or never"
        print(
            f"`cordwood serve` on {address}: {len(records):,} orders produced in {seconds:.1f} s,"
            " with a kill -9 and a restart half way;\nconsumed again: every order once."
            " Output of `cordwood log verify` for its directory:\n"
        )
        partition = cordwood.open_log(Path(folder, f"{TOPIC}-0"))
        print(textwrap.indent(str(partition.verify()), "  "))


def _consumed(address: str, count: int) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Yield the first `count` orders of the topic."""
    with cordwood.Consumer(address) as consumer:
        consumer.assign([(TOPIC, 0)])
        consumer.seek_to_beginning()
        while count > 0:
            for record in consumer.poll():
                yield record.key, record.value
                count -= 1


@contextmanager
def _serving(folder: str, address: str) -> Iterator["subprocess.Popen[str]"]:
    """A broker in a process of its own, once it is ready."""
    command = (*SERVE, "--data", folder, "--listen", address, "--set", "cordwood.log.level=ERROR")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

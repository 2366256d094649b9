"""Kills and stops of the broker or of its cleaner process in the middle of a cleaning pass.

A rate limit makes the pass slow, so that the test can see its files in the log's directory. After
the restart the log has the last value of each key, and only produced records. At the end a pass
without the limit compacts the log.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final, TypeAlias

import pytest

import cordwood
from cordwood.client.serializers import Plain
from tests.robustness.test_kill import verified
from tests.serving import PATIENCE_S, Serving, ended_with

SLOW: Final = 2_000_000
FAST: Final = 1_000_000_000
PACE: Final = "log.cleaner.io.max.bytes.per.second"
SETTINGS: Final = {
    "log.segment.bytes": str(1 << 20),
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.threads": "0",
    "cordwood.compaction.verify": "always",
    PACE: str(SLOW),
}
TOPIC: Final = "stock"
KEYS: Final = 500
RECORDS: Final = 25_000

pytestmark = pytest.mark.timeout(600)

Producer: TypeAlias = cordwood.Producer[Plain, Plain]
Consumer: TypeAlias = cordwood.Consumer[bytes, bytes]
Consumed: TypeAlias = cordwood.ConsumedRecord[bytes, bytes]


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds."""
    end_s, pause = perf_counter() + PATIENCE_S, threading.Event()
    while not condition():
        assert perf_counter() < end_s, what
        pause.wait(0.01)


def value_of(number: int) -> bytes:
    return b"%d " % number + bytes(150)


def produce(address: str) -> dict[bytes, bytes]:
    """Produce to a compacted topic; return the last value of each key."""
    with cordwood.Admin(address) as admin:
        admin.create_topic(TOPIC, configs={"cleanup.policy": "compact"})
    with cordwood.Producer(address) as producer:
        send(producer, range(RECORDS))
    return {b"%d" % (number % KEYS): value_of(number) for number in range(RECORDS)}


def read_all(address: str) -> list[cordwood.ConsumedRecord[bytes, bytes]]:
    found: list[cordwood.ConsumedRecord[bytes, bytes]] = []
    with cordwood.Consumer(address, auto_offset_reset="earliest") as consumer:
        consumer.assign([(TOPIC, 0)])
        while not found or found[-1].offset < RECORDS - 1:
            found += consumer.poll()
    return found


@contextmanager
def following(address: str) -> Iterator[tuple[Producer, Consumer]]:
    """Yield a producer, and a consumer of the topic from its beginning."""
    with (
        cordwood.Producer(address) as producer,
        cordwood.Consumer(address, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([(TOPIC, 0)])
        yield producer, consumer


def send(producer: Producer, numbers: range) -> None:
    for number in numbers:
        producer.send(TOPIC, value_of(number), key=b"%d" % (number % KEYS))
    producer.flush()


def read_on(consumer: Consumer, *, up_to: int) -> Iterator[Consumed]:
    """Yield the next records up to an offset."""
    offset = -1
    while offset < up_to - 1:
        for record in consumer.poll():
            offset = record.offset
            yield record


def find_faults(address: str, last: dict[bytes, bytes]) -> list[str]:
    """Return the errors in the records that a consumer from the beginning reads."""
    found = read_all(address)
    offsets = [record.offset for record in found]
    wrong = [f"out of order at {offsets}"] if offsets != sorted(set(offsets)) else []
    wrong += [
        f"record {record.offset} is another one"
        for record in found
        if record.value != value_of(record.offset)
    ]
    seen = {record.key: record.value for record in found}
    wrong += [f"the last value of {key!r} is gone" for key in last if seen.get(key) != last[key]]
    return wrong


def alter(broker: Serving, key: str, value: int) -> None:
    with cordwood.Admin(broker.address) as admin:
        admin.alter_configs(("broker", ""), change={key: str(value)})


def begin_pass(broker: Serving) -> None:
    """Enable the cleaner and wait for its first file."""
    alter(broker, "log.cleaner.threads", 1)
    folder = broker.data[0] / f"{TOPIC}-0"
    until(lambda: any(folder.glob("*.log.cleaned")), "no pass has begun")


def go_fast(broker: Serving) -> None:
    """Remove the rate limit of cleaning passes."""
    alter(broker, PACE, FAST)


def children_of(broker: Serving) -> list[int]:
    pid = broker.process.pid
    found = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for children in found for child in children]


def is_over(pid: int) -> bool:
    """Return whether a process has ended; it may still be a zombie."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def is_compacted(broker: Serving) -> bool:
    return len(read_all(broker.address)) < RECORDS / 2


def test_broker_killed_during_a_pass_serves_all_records_again(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        broker.start()
        last = produce(broker.address)
        begin_pass(broker)
        children = children_of(broker)
        broker.kill()
        until(lambda: all(map(is_over, children)), "the cleaner's process lives on")

        broker.start()
        after_kill = find_faults(broker.address, last)
        go_fast(broker)
        until(lambda: is_compacted(broker), "the log is not compacted")
        after_pass = find_faults(broker.address, last)
        left = len(read_all(broker.address))
        code = broker.stop()

    report(f"cleaning, killed: {RECORDS} records of {KEYS} keys, {left} left")
    assert (after_kill, after_pass, code) == ([], [], 0)
    assert children
    assert verified(broker.data)[0] == 0


def test_pass_whose_process_is_killed_is_retried(tmp_path: Path) -> None:
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        broker.start()
        last = produce(broker.address)
        begin_pass(broker)
        for child in children_of(broker):
            os.kill(child, signal.SIGKILL)
        until(lambda: broker.told("killed by signal 9"), "the kill is not logged")
        go_fast(broker)
        until(lambda: is_compacted(broker), "the log is not compacted")
        wrong = find_faults(broker.address, last)
        code = broker.stop()

    assert (wrong, code) == ([], 0)
    assert verified(broker.data)[0] == 0


def test_broker_stops_during_a_pass(tmp_path: Path) -> None:
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        broker.start()
        last = produce(broker.address)
        begin_pass(broker)
        children = children_of(broker)
        code = broker.stop()
        left = [path.name for path in (broker.data[0] / f"{TOPIC}-0").iterdir()]
        until(lambda: all(map(is_over, children)), "the cleaner's process lives on")
        broker.start()
        wrong = find_faults(broker.address, last)
        broker.stop()

    assert (code, wrong) == (0, [])
    assert not [name for name in left if name.endswith((".cleaned", ".swap"))]


def test_reader_at_the_head_sees_every_message_while_the_log_is_cleaned(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    with ended_with(Serving(tmp_path, SETTINGS | {PACE: str(FAST)})) as broker:
        broker.start()
        produce(broker.address)
        with following(broker.address) as (producer, consumer):
            seen = [record.offset for record in read_on(consumer, up_to=RECORDS)]
            alter(broker, "log.cleaner.threads", 1)
            while not broker.told("log cleaned") or len(seen) < 2 * RECORDS:
                end = len(seen) + KEYS
                send(producer, range(len(seen), end))
                seen += [record.offset for record in read_on(consumer, up_to=end)]
        until(lambda: is_compacted(broker), "the log is not compacted")
        code = broker.stop()

    report(f"cleaning, read at the head: {len(seen)} records, none missed")
    assert (seen, code) == (list(range(len(seen))), 0)

"""What `cordwood bench` measures: records and bytes a second, waiting times, this process's CPU.

The time begins with the first record, so getting to know the cluster is part of it: a few thousand
records are too few to say how fast it is.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Final, NamedTuple

from cordwood.cli.connecting import partitions_there
from cordwood.cli.producing import Tally, throttle_of
from cordwood.client.blocking import Consumer, Producer
from cordwood.client.deliveries import Delivery
from cordwood.core.errors import RequestTimedOutError
from cordwood.core.system import SystemClock, SystemRandom

_SHARES: Final = {"50%": 0.5, "95%": 0.95, "99%": 0.99, "99.9%": 0.999}
#: Of more records than these not every one is timed.
_TIMED: Final = 100_000
_PATIENCE_MS: Final = 10_000
_AT_ONCE: Final = 5_000
_PARTS: Final = 1_000


class Load(NamedTuple):
    """What a cluster is given to do."""

    topic: str
    records: int
    record_size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What it did, in how much time; waiting times are in milliseconds."""

    records: int
    bytes: int
    seconds: float
    cpu_seconds: float
    latency_ms: Mapping[str, float] | None = None

    def to_json(self) -> str:
        """Return it as a JSON object, with what follows from it."""
        more = {
            "records_per_second": round(self._per_second(self.records), 1),
            "mb_per_second": round(self._per_second(self.bytes) / 1e6, 3),
        }
        return json.dumps(asdict(self) | more)

    def lines(self) -> list[str]:
        """Return it as lines of text."""
        told = (
            f"{self.records:,} records, {self.bytes:,} bytes in {self.seconds:.3f} s:"
            f" {self._per_second(self.records):,.0f} records/s,"
            f" {self._per_second(self.bytes) / 1e6:,.2f} MB/s,"
            f" {self.cpu_seconds:.3f} s of this process's CPU"
        )
        if self.latency_ms is None:
            return [told]
        times = ", ".join(f"{name} {each:.2f}" for name, each in self.latency_ms.items())
        return [told, f"latency in ms: {times}"]

    def _per_second(self, amount: int) -> float:
        return amount / self.seconds if self.seconds else 0.0


class Watch:
    """Measures from when it is made."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._start_ms = self._clock.monotonic_ms()
        self._start_cpu = time.process_time()

    def now_ms(self) -> float:
        """Return milliseconds since then."""
        return self._clock.monotonic_ms() - self._start_ms

    def measured(
        self, records: int, size: int, *, latencies_ms: Sequence[float] | None = None
    ) -> Measured:
        """Return what has been done since then."""
        return Measured(
            records=records,
            bytes=size,
            seconds=round(self.now_ms() / 1000, 6),
            cpu_seconds=round(time.process_time() - self._start_cpu, 6),
            latency_ms=None if latencies_ms is None else distribution(latencies_ms),
        )


def distribution(times_ms: Sequence[float]) -> dict[str, float]:
    """Return the average, what most stay below, and the longest."""
    if not times_ms:
        return {}
    ordered = sorted(times_ms)
    told = {"average": sum(ordered) / len(ordered)}
    told |= {
        name: ordered[min(int(len(ordered) * share), len(ordered) - 1)]
        for name, share in _SHARES.items()
    }
    told["longest"] = ordered[-1]
    return {name: round(each, 3) for name, each in told.items()}


def measure_produce(load: Load, config: Mapping[str, object], *, rate: int | None) -> Measured:
    """Send records of chance, and wait for all of them; none may be lost."""
    values = _values(load.record_size)
    latencies: list[float] = []
    tally = Tally()
    step = -(-load.records // _TIMED)
    with Producer.from_config(config) as producer:
        throttle = throttle_of(rate)
        watch = Watch()
        for number in range(load.records):
            at_ms = watch.now_ms()
            delivery = producer.send(load.topic, next(values))
            if number % step == 0:
                delivery.add_done_callback(_timing(latencies, watch, at_ms))
            tally.follow(delivery)
            throttle(1)
        producer.flush()
        tally.settle()
        if tally.error is not None:
            raise tally.error
        return watch.measured(load.records, load.records * load.record_size, latencies_ms=latencies)


def measure_consume(
    load: Load, config: Mapping[str, object], *, timeout_ms: int, is_columnar: bool
) -> Measured:
    """Read so many records from the beginning, or as many as there are."""
    partitions = partitions_there(config, load.topic)
    with Consumer.from_config(config) as consumer:
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        read = _columns if is_columnar else _records
        watch = Watch()
        records = size = 0
        for count, more in read(consumer, timeout_ms):
            records += count
            size += more
            if records >= load.records:
                break
        return watch.measured(records, size)


def measure_latency(
    load: Load, config: Mapping[str, object], *, consuming: Mapping[str, object]
) -> Measured:
    """Send records one by one to the first partition, and time each until it has been read."""
    (first, *_) = partitions_there(consuming, load.topic)
    values = _values(load.record_size)
    latencies: list[float] = []
    with (
        Consumer.from_config(consuming) as consumer,
        Producer.from_config({**config, "linger.ms": 0}) as producer,
    ):
        consumer.assign([first])
        consumer.seek_to_end()
        consumer.position(first)
        watch = Watch()
        for value in islice(values, load.records):
            at_ms = watch.now_ms()
            producer.send(load.topic, value, partition=first[1])
            if not consumer.poll(_PATIENCE_MS):
                raise RequestTimedOutError(
                    f"{load.topic}: a record was not there after {_PATIENCE_MS} ms"
                )
            latencies.append(watch.now_ms() - at_ms)
        return watch.measured(load.records, load.records * load.record_size, latencies_ms=latencies)


def _timing(latencies: list[float], watch: Watch, at_ms: float) -> Callable[[Delivery], None]:
    def time_it(_: object) -> None:
        latencies.append(watch.now_ms() - at_ms)

    return time_it


def _records(consumer: Consumer, timeout_ms: int) -> Iterator[tuple[int, int]]:
    """Yield how many records came, and how many bytes of keys and values they have."""
    while records := consumer.poll(timeout_ms, max_records=_AT_ONCE):
        size = sum(len(each.key or b"") + len(each.value or b"") for each in records)
        yield len(records), size


def _columns(consumer: Consumer, timeout_ms: int) -> Iterator[tuple[int, int]]:
    """Yield the same of Arrow's columns."""
    for _, batch in consumer.columns(("key", "value"), timeout_ms=timeout_ms):
        yield batch.num_rows, batch.nbytes


def _values(size: int) -> Iterator[bytes]:
    """Yield values without an end, each another part of the same noise."""
    noise = SystemRandom().token(size + _PARTS)
    while True:
        for start in range(_PARTS):
            yield noise[start : start + size]

"""Work of `cordwood bench`: measures records and bytes per second, latency, and client CPU.

The clock starts with the first record, so the result contains the metadata requests. A few thousand
records are too few for a meaningful result.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Final, NamedTuple

from cordwood.cli.cluster_options import list_partitions
from cordwood.cli.produce_run import DeliveryCount, record_throttle
from cordwood.client.blocking import Consumer, Producer
from cordwood.client.producer.delivery import Delivery
from cordwood.core.counts import counted
from cordwood.core.errors import RequestTimedOutError
from cordwood.core.system import SystemClock, SystemRandom

_PERCENTILES: Final = {"50%": 0.5, "95%": 0.95, "99%": 0.99, "99.9%": 0.999}
#: With more records than these, only a sample of them is timed.
_MAX_TIMED: Final = 100_000
_LATENCY_TIMEOUT_MS: Final = 10_000
_MAX_POLL_RECORDS: Final = 5_000
_DISTINCT_VALUES: Final = 1_000
#: The records between two updates of the progress bar.
_SHOWN_EVERY: Final = 5_000


class BenchLoad(NamedTuple):
    """The records to send or read."""

    topic: str
    records: int
    record_size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The measured amounts and times; latencies are in milliseconds."""

    records: int
    bytes: int
    seconds: float
    cpu_seconds: float
    latency_ms: Mapping[str, float] | None = None

    def to_json(self) -> str:
        """Return a JSON object, with the rates derived from the amounts."""
        rates = {
            "records_per_second": round(self._per_second(self.records), 1),
            "mb_per_second": round(self._per_second(self.bytes) / 1e6, 3),
        }
        return json.dumps(asdict(self) | rates)

    def lines(self) -> list[str]:
        """Return the result as lines of text."""
        throughput = (
            f"{counted(self.records, 'record')}, {counted(self.bytes, 'byte')} in"
            f" {self.seconds:.3f} s:"
            f" {self._per_second(self.records):,.0f} records/s,"
            f" {self._per_second(self.bytes) / 1e6:,.2f} MB/s,"
            f" {self.cpu_seconds:.3f} s of client CPU"
        )
        if self.latency_ms is None:
            return [throughput]
        times = ", ".join(f"{name} {each:.2f}" for name, each in self.latency_ms.items())
        return [throughput, f"latency in ms: {times}"]

    def _per_second(self, amount: int) -> float:
        return amount / self.seconds if self.seconds else 0.0


class Stopwatch:
    """A stopwatch of elapsed and CPU time; it starts when it is created."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._start_ms = self._clock.monotonic_ms()
        self._start_cpu = time.process_time()

    def now_ms(self) -> float:
        """Return milliseconds since the start."""
        return self._clock.monotonic_ms() - self._start_ms

    def result(
        self, records: int, size: int, *, latencies_ms: Sequence[float] | None = None
    ) -> BenchResult:
        """Return the result for the records handled since the start."""
        return BenchResult(
            records=records,
            bytes=size,
            seconds=round(self.now_ms() / 1000, 6),
            cpu_seconds=round(time.process_time() - self._start_cpu, 6),
            latency_ms=None if latencies_ms is None else distribution(latencies_ms),
        )


def distribution(times_ms: Sequence[float]) -> dict[str, float]:
    """Return the average, the percentiles and the maximum (`longest`)."""
    if not times_ms:
        return {}
    ordered = sorted(times_ms)
    times = {"average": sum(ordered) / len(ordered)}
    times |= {
        name: ordered[min(int(len(ordered) * share), len(ordered) - 1)]
        for name, share in _PERCENTILES.items()
    }
    times["longest"] = ordered[-1]
    return {name: round(each, 3) for name, each in times.items()}


def measure_produce(
    load: BenchLoad,
    config: Mapping[str, object],
    *,
    rate: int | None,
    advance: Callable[[int], object] = lambda _: None,
) -> BenchResult:
    """Send records with random values and wait for their acknowledgements; raise on a failure."""
    values = _values(load.record_size)
    latencies: list[float] = []
    deliveries = DeliveryCount()
    step = -(-load.records // _MAX_TIMED)
    with Producer.from_config(config) as producer:
        throttle = record_throttle(rate)
        watch = Stopwatch()
        for number in range(load.records):
            at_ms = watch.now_ms()
            delivery = producer.send(load.topic, next(values))
            if number % step == 0:
                delivery.add_done_callback(_latency_callback(latencies, watch, at_ms))
            if number % _SHOWN_EVERY == 0:
                advance(_SHOWN_EVERY)
            deliveries.add(delivery)
            throttle(1)
        producer.flush()
        deliveries.count_done()
        if deliveries.error is not None:
            raise deliveries.error
        return watch.result(load.records, load.records * load.record_size, latencies_ms=latencies)


def measure_consume(
    load: BenchLoad,
    config: Mapping[str, object],
    *,
    timeout_ms: int,
    is_columnar: bool,
    advance: Callable[[int], object] = lambda _: None,
) -> BenchResult:
    """Read records from the beginning, until their number is reached or none arrive.

    The time ends with the last record, so that a wait for more records does not count as work.
    """
    partitions = list_partitions(config, load.topic)
    with Consumer.from_config(config) as consumer:
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        read = _columns if is_columnar else _records
        watch = Stopwatch()
        records = size = 0
        result = watch.result(0, 0)
        for count, count_bytes in read(consumer, timeout_ms):
            records += count
            size += count_bytes
            result = watch.result(records, size)
            advance(count)
            if records >= load.records:
                break
        return result


def measure_latency(
    load: BenchLoad, config: Mapping[str, object], *, consuming: Mapping[str, object]
) -> BenchResult:
    """Send records one by one to the first partition, and time each until it is read."""
    (first, *_) = list_partitions(consuming, load.topic)
    values = _values(load.record_size)
    latencies: list[float] = []
    with (
        Consumer.from_config(consuming) as consumer,
        Producer.from_config({**config, "linger.ms": 0}) as producer,
    ):
        consumer.assign([first])
        consumer.seek_to_end()
        consumer.position(first)
        watch = Stopwatch()
        for value in islice(values, load.records):
            at_ms = watch.now_ms()
            producer.send(load.topic, value, partition=first[1])
            if not consumer.poll(_LATENCY_TIMEOUT_MS):
                raise RequestTimedOutError(
                    f"{load.topic}: a record was not readable after {_LATENCY_TIMEOUT_MS} ms;"
                    " check the cluster's load and logs"
                )
            latencies.append(watch.now_ms() - at_ms)
        return watch.result(load.records, load.records * load.record_size, latencies_ms=latencies)


def _latency_callback(
    latencies: list[float], watch: Stopwatch, sent_ms: float
) -> Callable[[Delivery], None]:
    def add_latency(_: object) -> None:
        latencies.append(watch.now_ms() - sent_ms)

    return add_latency


def _records(consumer: Consumer, timeout_ms: int) -> Iterator[tuple[int, int]]:
    """Yield the number of records of each poll, and the size of their keys and values."""
    while records := consumer.poll(timeout_ms, max_records=_MAX_POLL_RECORDS):
        size = sum(len(each.key or b"") + len(each.value or b"") for each in records)
        yield len(records), size


def _columns(consumer: Consumer, timeout_ms: int) -> Iterator[tuple[int, int]]:
    """Yield the number of records of each Arrow batch, and the size of its columns."""
    for _, batch in consumer.columns(("key", "value"), timeout_ms=timeout_ms):
        yield batch.num_rows, batch.nbytes


def _values(size: int) -> Iterator[bytes]:
    """Yield values endlessly: slices of the same random bytes."""
    noise = SystemRandom().token(size + _DISTINCT_VALUES)
    while True:
        for start in range(_DISTINCT_VALUES):
            yield noise[start : start + size]

"""How fast are records produced and consumed, next to Python's other clients and the same broker?

    python -m benchmarks.macro.clients          our broker, in a process of its own
    python -m benchmarks.kafka.clients          Apache Kafka, which Maven fetches

Records of 100 bytes without keys go into one partition, with acks=all and idempotent where the
client supports it. aiokafka's and kafka-python's batches and linger are set to ours. They are read
again as objects, with checksums checked, and for us also as columns. Rounds alternate, best of
several, wall time: the broker's work is in all of them alike.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Final

import cordwood
from benchmarks.figure import Figure
from tests.serving import CORDWOOD, Serving, ended_with

ROUNDS: Final = 3
_BYTES_A_RECORD: Final = 1_280
TOPIC: Final = "bench"
VALUE: Final = bytes(100)
BATCH_BYTES: Final = 65_536
LINGER_MS: Final = 5

Run = Callable[[str, int], None]
"""A round of N records through a broker."""


def figures(size: int = 256 << 20) -> list[Figure]:
    """Measure on our broker, with as many records a round as are a part of `size` bytes."""
    records = max(100, size // _BYTES_A_RECORD)
    with _served() as bootstrap:
        return measure(bootstrap, records)


def measure(bootstrap: str, records: int) -> list[Figure]:
    """Measure on a broker that has no topic of this name yet."""
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic(TOPIC, partitions=1, replication_factor=1)
    _produce(bootstrap, records)
    produce = {"kafka-python": _produce_kafka_python, "aiokafka": _produce_aiokafka}
    consume = {"kafka-python": _consume_kafka_python, "aiokafka": _consume_aiokafka}
    return [
        *_beside("produce", _produce, produce, bootstrap, records=records),
        *_beside("produce, asyncio", _produce_aio, produce, bootstrap, records=records),
        *_beside("consume", _consume, consume, bootstrap, records=records),
        *_beside("consume columns", _columns, consume, bootstrap, records=records),
    ]


@contextmanager
def _served() -> Iterator[str]:
    """Our broker; its address."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ended_with(Serving(Path(folder), program=CORDWOOD)) as broker,
    ):
        broker.start()
        yield broker.address


def _beside(
    name: str, ours: Run, peers: Mapping[str, Run], bootstrap: str, *, records: int
) -> Iterator[Figure]:
    runs = {"ours": ours, **peers}
    best = dict.fromkeys(runs, 0.0)
    for _ in range(ROUNDS):
        for side, run in runs.items():
            start = perf_counter()
            run(bootstrap, records)
            best[side] = max(best[side], records / (perf_counter() - start))
    for peer in peers:
        yield Figure(
            name=f"{name}, 100 B ({peer})",
            value=best["ours"],
            unit="records/s",
            peer=peer,
            peer_value=best[peer],
            ratio=best["ours"] / best[peer],
        )


def _produce(bootstrap: str, records: int) -> None:
    with cordwood.Producer(bootstrap, linger_ms=LINGER_MS, batch_size=BATCH_BYTES) as producer:
        for _ in range(records):
            producer.send(TOPIC, VALUE)


def _produce_aio(bootstrap: str, records: int) -> None:
    async def produce() -> None:
        async with cordwood.aio.Producer(
            bootstrap, linger_ms=LINGER_MS, batch_size=BATCH_BYTES
        ) as producer:
            for _ in range(records):
                await producer.send(TOPIC, VALUE)

    asyncio.run(produce())


def _produce_kafka_python(bootstrap: str, records: int) -> None:
    producer = import_module("kafka").KafkaProducer(
        bootstrap_servers=bootstrap, linger_ms=LINGER_MS, batch_size=BATCH_BYTES, acks="all"
    )
    for _ in range(records):
        producer.send(TOPIC, VALUE)
    producer.flush()
    producer.close()


def _produce_aiokafka(bootstrap: str, records: int) -> None:
    async def produce() -> None:
        producer = import_module("aiokafka").AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            linger_ms=LINGER_MS,
            max_batch_size=BATCH_BYTES,
            enable_idempotence=True,
        )
        await producer.start()
        for _ in range(records):
            await producer.send(TOPIC, VALUE)
        await producer.stop()

    asyncio.run(produce())


def _consume(bootstrap: str, records: int) -> None:
    with cordwood.Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(TOPIC, 0)])
        found = 0
        while found < records:
            found += len(consumer.poll(1_000))


def _columns(bootstrap: str, records: int) -> None:
    with cordwood.Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(TOPIC, 0)])
        found = 0
        for each in consumer.columns():
            found += each.batch.num_rows
            if found >= records:
                break


def _consume_kafka_python(bootstrap: str, records: int) -> None:
    kafka = import_module("kafka")
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    consumer.assign([kafka.TopicPartition(TOPIC, 0)])
    found = 0
    while found < records:
        found += sum(map(len, consumer.poll(1_000).values()))
    consumer.close()


def _consume_aiokafka(bootstrap: str, records: int) -> None:
    async def consume() -> None:
        aiokafka = import_module("aiokafka")
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest"
        )
        await consumer.start()
        consumer.assign([aiokafka.TopicPartition(TOPIC, 0)])
        found = 0
        while found < records:
            batches = await consumer.getmany(timeout_ms=1_000)
            found += sum(map(len, batches.values()))
        await consumer.stop()

    asyncio.run(consume())


if __name__ == "__main__":
    for figure in figures():
        print(figure)

"""Known records in every shape that a format can hold; the same on every run."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tests.interop.kafka_harness.spec import (
    CODECS,
    CREATE_TIME,
    LEGACY_CODECS,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    Json,
    Spec,
    SpecRecord,
)

NOON: Final = 1_700_000_000_000
INT_MAX: Final = 2**31 - 1


def _record(offset: int, timestamp: int, key: bytes | None, value: bytes | None) -> SpecRecord:
    return SpecRecord(offset=offset, timestamp=timestamp, key=key, value=value)


def plain() -> tuple[SpecRecord, ...]:
    """Three records that every format holds."""
    return tuple(
        _record(at, NOON + 7 * at, b"key-%d" % at, b"value-%d" % at * 9) for at in range(3)
    )


def nulls() -> tuple[SpecRecord, ...]:
    """Null and empty keys and values in all combinations."""
    pairs = [(key, value) for key in (None, b"", b"k") for value in (None, b"", b"v")]
    return tuple(_record(at, NOON, key, value) for at, (key, value) in enumerate(pairs))


def unordered() -> tuple[SpecRecord, ...]:
    """Timestamps that go back, and none at all."""
    times = [NOON, NOON - 90_000_000, 0, NO_TIMESTAMP, NOON + 2**40]
    return tuple(_record(at, time, b"k", b"v") for at, time in enumerate(times))


def gaps() -> tuple[SpecRecord, ...]:
    """Offsets with holes, as compaction leaves them, far from the start of a log."""
    offsets = [2**40, 2**40 + 1, 2**40 + 64, 2**40 + 70_000]
    return tuple(_record(offset, NOON + offset % 97, b"k", b"v") for offset in offsets)


def many() -> tuple[SpecRecord, ...]:
    """600 records of 0 to 2,000 bytes, half of them hard to compress: many blocks of any codec."""
    chance = random.Random(20)
    texts = [b"all work and no play " * 40, chance.randbytes(2_000)]
    return tuple(
        _record(
            at,
            NOON + chance.randrange(10_000),
            chance.randbytes(chance.randrange(12)),
            chance.choice(texts)[: chance.randrange(2_000)],
        )
        for at in range(600)
    )


def headers() -> tuple[SpecRecord, ...]:
    """Headers: none, many, repeated, empty, null, not ASCII."""
    shapes: tuple[tuple[tuple[str, bytes | None], ...], ...] = (
        (),
        (("a", b"1"),),
        (("a", b"1"), ("a", b"2"), ("", b""), ("null", None)),
        (("Maß", "größer".encode()), ("木", b"\x00\xff"), ("🪵", None)),
        tuple((f"h{at}", b"x" * at) for at in range(200)),
    )
    return tuple(
        replace(_record(at, NOON + at, b"k", None), headers=shape)
        for at, shape in enumerate(shapes)
    )


Shape = Callable[[], tuple[SpecRecord, ...]]
LEGACY_SHAPES: Final[dict[str, Shape]] = {
    "plain": plain,
    "nulls": nulls,
    "unordered": unordered,
    "gaps": gaps,
    "many": many,
}
SHAPES: Final[dict[str, Shape]] = {**LEGACY_SHAPES, "headers": headers}


def v2_specs() -> Iterator[tuple[str, Spec]]:
    """Every shape with every codec, and every kind of batch."""
    for codec in CODECS:
        for name, shape in SHAPES.items():
            yield f"{name}-{codec}", _spec(shape(), codec=codec)
        for name, spec in _kinds(_spec(plain(), codec=codec)).items():
            yield f"{name}-{codec}", spec


def _kinds(spec: Spec) -> dict[str, Spec]:
    """The same records in every kind of v2 batch."""
    stamp = NOON + 1_000
    return {
        "epoch": replace(spec, partition_leader_epoch=7),
        "idempotent": replace(spec, producer_id=2**40, producer_epoch=3, base_sequence=11),
        "wrapping": replace(spec, producer_id=4, producer_epoch=0, base_sequence=INT_MAX - 1),
        "transactional": replace(
            spec, producer_id=7, producer_epoch=1, base_sequence=5, transactional=True
        ),
        "log-append-time": replace(spec, timestamp_type=LOG_APPEND_TIME, log_append_time=stamp),
        "delete-horizon": replace(spec, delete_horizon_ms=NOON + 5_000),
    }


def legacy_specs(magic: int) -> Iterator[tuple[str, Spec]]:
    """Every shape with every codec that v0 and v1 know; v1 with LogAppendTime as well."""
    for codec in LEGACY_CODECS:
        for name, shape in LEGACY_SHAPES.items():
            yield f"{name}-{codec}", _legacy_spec(shape(), magic, codec)
        if magic == 1:
            spec = _legacy_spec(plain(), magic, codec)
            stamped = tuple(replace(record, timestamp=NOON + 1_000) for record in spec.records)
            yield (
                f"log-append-time-{codec}",
                replace(
                    spec,
                    records=stamped,
                    timestamp_type=LOG_APPEND_TIME,
                    log_append_time=NOON + 1_000,
                ),
            )


def _spec(records: tuple[SpecRecord, ...], codec: str) -> Spec:
    return Spec(records=records, codec=codec, base_offset=records[0].offset)


def _legacy_spec(records: tuple[SpecRecord, ...], magic: int, codec: str) -> Spec:
    if magic == 1:
        return replace(_spec(records, codec), magic=1, timestamp_type=CREATE_TIME)
    timeless = tuple(replace(record, timestamp=NO_TIMESTAMP) for record in records)
    return replace(_spec(timeless, codec), magic=0, timestamp_type=NO_TIMESTAMP)


def as_read(spec: Spec) -> tuple[SpecRecord, ...]:
    """The records of a spec with the timestamps that a reader must see."""
    if spec.timestamp_type != LOG_APPEND_TIME:
        return spec.records
    return tuple(replace(record, timestamp=spec.log_append_time) for record in spec.records)


def marker(kind: str) -> dict[str, Json]:
    """The end of a transaction: "COMMIT" or "ABORT"."""
    return {
        "type": kind,
        "base_offset": 43,
        "timestamp": NOON,
        "partition_leader_epoch": 3,
        "producer_id": 7,
        "producer_epoch": 1,
        "coordinator_epoch": 9,
    }

"""A day of an idle stream in virtual time, without Spark: its memory does not grow."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import cordwood
from cordwood.core.system import SystemFiles
from cordwood.spark.stream.admission import NO_LIMITS
from cordwood.spark.stream.stream_offset import INITIAL
from cordwood.spark.stream.stream_options import parse_stream_options
from cordwood.spark.stream.stream_query import StreamQuery
from cordwood.testing.virtual_clock import VirtualClock
from tests.spark.kills import IS_SOAK
from tests.unit.spark.stream.stream_samples import records, write_log

if TYPE_CHECKING:
    from cordwood.testing.kafka_fixture import Kafka

pytestmark = pytest.mark.timeout(600)

DAY_S: Final = 86_400
#: Triggers of a day; the caches of a query expire after ten seconds and after a minute.
OF_DIRECTORIES: Final = 20_000 if IS_SOAK else 2_000
OF_BROKERS: Final = 20_000 if IS_SOAK else 2_000
#: Blocks of memory that one trigger more would exceed many times over.
MOST_BLOCKS: Final = 1_000


def blocks_after(query: StreamQuery, clock: VirtualClock, triggers: int) -> Iterator[int]:
    """Yield the allocated blocks after each quarter of a day of triggers without new records."""
    end = query.latest(INITIAL, NO_LIMITS)
    for _ in range(4):
        for _ in range(triggers // 4):
            assert query.latest(end, NO_LIMITS) is end
            assert query.packs(end, end) == []
            query.report()
            clock.advance(seconds=DAY_S / triggers)
        gc.collect()
        yield sys.getallocatedblocks()


def test_idle_day_over_directories_holds_memory(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 9))
    write_log(tmp_path, records(0, 4), partition=1)
    clock = VirtualClock()
    options = parse_stream_options({"path": str(tmp_path), "startingOffsets": "earliest"})

    blocks = [*blocks_after(StreamQuery(options, SystemFiles(), clock), clock, OF_DIRECTORIES)]

    assert blocks[-1] - blocks[0] < MOST_BLOCKS, blocks


def test_idle_day_over_brokers_holds_memory(kafka: "Kafka") -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        producer.send("t", b"1", partition=0)
    clock = VirtualClock()
    given = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": "t", "groupId": "lake"}
    options = parse_stream_options({**given, "startingOffsets": "earliest"})
    query = StreamQuery(options, SystemFiles(), clock)

    blocks = [*blocks_after(query, clock, OF_BROKERS)]

    query.close()
    assert blocks[-1] - blocks[0] < MOST_BLOCKS, blocks

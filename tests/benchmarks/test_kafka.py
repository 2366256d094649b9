"""The benchmarks next to a running Kafka run, with small numbers, so that they cannot rot."""

import pytest

from benchmarks.kafka import cluster, compaction, life, load
from cordwood.records.compression import Codec
from tests.interop.kafka_harness.installed import kafka_jars

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(autouse=True)
def _kafka() -> None:
    """Kafka from Maven, without which these are skipped, or fail with CI=true."""
    kafka_jars()


def test_loads_are_measured_when_small() -> None:
    size = load.Size(small=2_000, large=500, many=1_600, echoes=50)

    measured = load.figures(size, rounds=1)

    assert len({figure.name for figure in measured}) == len(measured) == 12
    assert all(figure.value > 0 for figure in measured)


def test_starts_are_measured_when_small() -> None:
    size = life.Size(unsynced_bytes=1_000_000, partitions=20)

    measured = life.figures(size, rounds=1)

    assert len({figure.name for figure in measured}) == len(measured) == 9
    assert all(figure.value > 0 for figure in measured)


def test_clusters_are_measured_when_small() -> None:
    kafka_jars("kafka-3.9.1")
    size = cluster.Size(small=2_000, large=500, partitions=10)

    measured = cluster.figures(size, rounds=1, rows=("100B-1", "1KB-12", "election"))

    assert len({figure.name for figure in measured}) == len(measured) == 6
    assert all(figure.value > 0 for figure in measured)
    assert {figure.peer for figure in measured} == {"Kafka 3.9"}


def test_cleaners_are_measured_when_small() -> None:
    size = compaction.Size(records=20_000, keys=3_000, once=20_000, memory=1 << 20)

    measured = list(compaction.figures(size, rounds=1, codecs=(Codec.NONE,)))

    assert len({figure.name for figure in measured}) == len(measured) == 10
    assert all(figure.value > 0 for figure in measured)

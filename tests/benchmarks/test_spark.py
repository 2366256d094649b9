"""The benchmark next to Spark's own connector runs, with small numbers, so that it cannot rot."""

import pytest

from benchmarks.spark import throughput
from tests.interop.kafka_harness.installed import kafka_jars, made
from tests.interop.kafka_harness.spark import connector

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(autouse=True)
def _peers() -> None:
    """Kafka and the connector from Maven, without which this is skipped, or fails with CI=true."""
    kafka_jars()
    made(connector)


def test_throughput_is_measured_when_small() -> None:
    size = throughput.Size(rows=2_000, kilobytes=500, many=20_000, written=2_000)

    measured = list(throughput.figures(size, rounds=1))

    assert len({figure.name for figure in measured}) == len(measured) == 16
    assert all(figure.value >= 0 for figure in measured)

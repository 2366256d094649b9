"""The benchmark of streams runs, with small numbers, so that it cannot rot."""

import pytest

from benchmarks.spark import streams
from tests.interop.kafka_harness.installed import kafka_jars, made
from tests.interop.kafka_harness.spark import connector

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(autouse=True)
def _peers() -> None:
    """Kafka and the connector from Maven, without which this is skipped, or fails with CI=true."""
    kafka_jars()
    made(connector)


def test_streams_are_measured_when_small() -> None:
    size = streams.StreamSize(streamed=2_000, single=1_000, batches=2, tasks=(1,), warm_ups=0)

    measured = list(streams.figures(size, rounds=1))

    assert len({figure.name for figure in measured}) == len(measured) == 6
    assert all(figure.value > 0 for figure in measured)

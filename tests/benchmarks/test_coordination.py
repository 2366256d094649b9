"""The benchmark of groups, offsets and transactions runs with small numbers."""

import pytest

from benchmarks.kafka import coordination
from tests.interop.kafka_harness.installed import kafka_jars

pytestmark = pytest.mark.timeout(600)


def test_coordinators_are_measured_when_small() -> None:
    kafka_jars()
    size = coordination.Size(
        groups=3,
        rebalances=2,
        offset_groups=3,
        commits=160,
        transactions=32,
        storm_groups=2,
        storm_size=2,
        storm_s=0.5,
    )

    measured = list(coordination.figures(size, rounds=1))

    assert len({figure.name for figure in measured}) == len(measured) == 23
    assert all(figure.value > 0 for figure in measured)

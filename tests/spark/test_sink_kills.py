"""The exactly-once sink among real kills, in our broker and in Kafka 4.3."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import cordwood
from tests.interop.conftest import broker43, kafka43, kafka43_jars  # noqa: F401  fixtures
from tests.interop.kafka_harness.brokers import Broker
from tests.spark.sink_kills import (
    DRIVER_FAILURES,
    FAILURES,
    NAIVE,
    ROWS,
    Failure,
    Sighting,
    Target,
    run_matrix,
)

pytestmark = pytest.mark.timeout(1_200)

IS_SOAK = os.environ.get("CORDWOOD_SOAK") == "1"
#: Repetitions of the matrix; each has the kills of all cases, in both brokers.
ROUNDS = 7 if IS_SOAK else 1


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Target]:
    """Start our broker."""
    with cordwood.Broker(tmp_path / "logs") as broker:
        yield Target("ours", broker.address)


@pytest.fixture
def kafka(broker43: Broker) -> Target:  # noqa: F811  the fixture
    """Return Kafka 4.3."""
    return Target("kafka", broker43.bootstrap)


def ensure_exact(failure: Failure, found: Sighting) -> None:
    assert (found.visible, found.distinct) == (ROWS, ROWS), (failure.name, found)
    assert (found.written > ROWS) is failure.is_rewritten, (failure.name, found)


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("brokers", ("ours", "kafka"))
def test_killed_queries_write_each_row_once(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    report: Callable[[str], None],
    brokers: str,
    number: int,
) -> None:
    target = request.getfixturevalue(brokers)._replace(name=f"{brokers}-{number}")
    failures = (*FAILURES, *NAIVE) if brokers == "ours" or IS_SOAK else DRIVER_FAILURES

    found = run_matrix([target], failures, tmp_path)

    for failure in failures:
        rows = found[target.name, failure.name]
        if failure.is_exactly_once:
            ensure_exact(failure, rows)
        else:
            assert rows.visible > rows.distinct == ROWS, (failure.name, rows)
    kills = sum(each.point != "none" for each in failures)
    drivers = sum(each.kills_driver for each in failures)
    report(f"exactly-once sink, {brokers}: {kills} failures, {drivers} of them killed drivers")

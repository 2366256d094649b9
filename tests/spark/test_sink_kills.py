"""The exactly-once sink among real kills, in our broker and in Kafka 4.3."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import cordwood
from tests.interop.conftest import broker43, kafka43, kafka43_jars  # noqa: F401  fixtures
from tests.interop.kafka_harness.brokers import Broker, kraft_broker, running
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.serving import Serving, ended_with
from tests.spark.sink_kills import (
    BROKER_FAILURES,
    DRIVER_FAILURES,
    EXECUTOR_FAILURES,
    FAILURES,
    IS_SOAK,
    NAIVE,
    ROWS,
    Failure,
    Sighting,
    Target,
    run_matrix,
)

pytestmark = pytest.mark.timeout(5_400 if IS_SOAK else 1_800)

#: Repetitions of all failures.
ROUNDS = 7 if IS_SOAK else 1
#: Levels of transaction.version below Kafka's newest.
OLD_VERSIONS = (0, 1) if IS_SOAK else ()
#: Those that Kafka itself has in CI: before, within and after the decision.
IN_KAFKA = ("entry", "intent", "half", "half-lost", "zombie-intent")
#: The points at which Kafka itself dies in CI.
KAFKA_DIES_AT = ("broker-half",)
LOCAL_FAILURES = tuple(
    each for each in FAILURES if each not in (*BROKER_FAILURES, *EXECUTOR_FAILURES)
)


@pytest.fixture(scope="module")
def old_kafkas(
    kafka43_jars: Jars,  # noqa: F811  the fixture
    kafka43: Oracle,  # noqa: F811  as above
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[list[Target]]:
    """Start Kafka 4.3 with each earlier version of transactions, in soak."""
    with ExitStack() as stack:
        found = []
        for level in OLD_VERSIONS:
            broker = kraft_broker(
                kafka43_jars,
                tmp_path_factory.mktemp(f"version-{level}"),
                kafka43,
                features={"transaction.version": level},
            )
            stack.enter_context(running(broker))
            found.append(Target(f"version-{level}", broker.bootstrap, DRIVER_FAILURES))
        yield found


@pytest.fixture
def mortal_kafka(
    kafka43_jars: Jars,  # noqa: F811  the fixture
    kafka43: Oracle,  # noqa: F811  as above
    tmp_path: Path,
) -> Iterator[Target]:
    """Start a Kafka 4.3 that is killed while others run."""
    folder = tmp_path / "mortal-kafka"
    folder.mkdir()
    failures = tuple(each for each in BROKER_FAILURES if IS_SOAK or each.name in KAFKA_DIES_AT)
    with running(kraft_broker(kafka43_jars, folder, kafka43)) as broker:

        def restart() -> None:
            broker.kill()
            broker.start()

        yield Target("mortal-kafka", broker.bootstrap, failures, restart)


@pytest.fixture
def targets(
    tmp_path: Path,
    broker43: Broker,  # noqa: F811  the fixture
    mortal_kafka: Target,
    old_kafkas: list[Target],
) -> Iterator[list[Target]]:
    """Start our broker, and one that is killed while others run; Kafka 4.3 runs already."""
    (tmp_path / "mortal").mkdir()
    chosen = tuple(each for each in DRIVER_FAILURES if IS_SOAK or each.name in IN_KAFKA)
    with ExitStack() as stack:
        ours = stack.enter_context(cordwood.Broker(tmp_path / "logs"))
        mortal = stack.enter_context(ended_with(Serving(tmp_path / "mortal")))
        mortal.start()

        def restart() -> None:
            mortal.kill()
            mortal.start()

        yield [
            Target("mortal", mortal.address, BROKER_FAILURES, restart),
            mortal_kafka,
            Target("ours", ours.address, (*LOCAL_FAILURES, *NAIVE)),
            Target("kafka", broker43.bootstrap, chosen),
            *old_kafkas,
        ]


def ensure_exact(failure: Failure, found: Sighting) -> None:
    assert (found.visible, found.distinct) == (ROWS, ROWS), (failure.name, found)
    assert (found.written > ROWS) is failure.is_rewritten, (failure.name, found)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_killed_executors_leave_each_row_once(
    tmp_path: Path, report: Callable[[str], None], number: int
) -> None:
    with cordwood.Broker(tmp_path / "logs") as broker:
        target = Target(f"cluster-{number}", broker.address, EXECUTOR_FAILURES)
        for failure, rows in run_matrix([target], tmp_path, master="local-cluster[2,1,1024]"):
            ensure_exact(failure, rows)

    report(f"exactly-once sink: {len(EXECUTOR_FAILURES)} queries lose their executor")


@pytest.mark.parametrize("number", range(ROUNDS))
def test_killed_queries_write_each_row_once(
    targets: list[Target], tmp_path: Path, report: Callable[[str], None], number: int
) -> None:
    named = [each._replace(name=f"{each.name}-{number}") for each in targets]

    for failure, rows in run_matrix(named, tmp_path):
        if failure.is_exactly_once:
            ensure_exact(failure, rows)
        else:
            assert rows.visible > rows.distinct == ROWS, (failure.name, rows)

    failures = [failure for each in targets for failure in each.failures]
    drivers = sum(each.kills_driver for each in failures)
    brokers = sum(each.kills_broker for each in failures)
    workers = sum(each.action == "die" for each in failures)
    report(
        f"exactly-once sink: {len(failures)} queries, of which {drivers} lose their driver,"
        f" {workers} a Python process, {brokers} their broker"
    )

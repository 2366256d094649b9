"""pytest reads this module in every project that has Cordwood, so it imports nothing of weight.

The fixtures bring their classes in when a test asks for them; a project that uses none pays for
reading this file alone.
"""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cordwood.core.settings import SettingValue
    from cordwood.spark.session import SparkSession
    from cordwood.testing.clock import VirtualClock
    from cordwood.testing.files import MemoryFiles
    from cordwood.testing.kafka import Kafka
    from cordwood.testing.spark_kafka import SparkKafka


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known that says what broker a test wants."""
    config.addinivalue_line(
        "markers",
        "kafka(auto_create=True, config={}, files='memory'): what the broker of `kafka` is like",
    )


@pytest.fixture
def virtual_clock() -> "VirtualClock":
    """A clock that stands still until the test moves it."""
    from cordwood.testing.clock import VirtualClock

    return VirtualClock()


@pytest.fixture
def memory_files(virtual_clock: "VirtualClock") -> "MemoryFiles":
    """An empty file system in memory, on the test's clock, which forgets what was not synced."""
    from cordwood.testing.files import MemoryFiles

    return MemoryFiles(virtual_clock)


@pytest.fixture
def kafka_broker(request: pytest.FixtureRequest) -> "Iterator[Callable[..., Kafka]]":
    """Start brokers for this test, each by a call with the options of the mark `kafka`."""
    from cordwood.testing.kafka import Kafka, KafkaOptions

    with ExitStack() as running:

        def start(
            *,
            auto_create: bool = True,
            config: "Mapping[str, SettingValue] | None" = None,
            files: Literal["memory", "disk"] = "memory",
        ) -> Kafka:
            directory = None
            if files == "disk":
                folders: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
                directory = str(folders.mktemp("kafka-logs"))
            options = KafkaOptions(
                auto_create=auto_create, config=config or {}, directory=directory
            )
            kafka = Kafka.start(options)
            running.callback(kafka.close)
            return kafka

        yield start


@pytest.fixture
def kafka(request: pytest.FixtureRequest, kafka_broker: "Callable[..., Kafka]") -> "Kafka":
    """A broker of this test's own, on a socket; the mark `kafka` says what it is like."""
    mark = request.node.get_closest_marker("kafka")
    return kafka_broker(**(mark.kwargs if mark else {}))


@pytest.fixture(scope="session")
def cordwood_spark() -> "Iterator[SparkSession]":
    """The session that `spark_kafka` gives, one for all tests: the one there is, or a new one."""
    from cordwood.testing.spark_kafka import spark_for_tests

    with spark_for_tests() as spark:
        yield spark


@pytest.fixture
def spark_kafka(cordwood_spark: "SparkSession", kafka: "Kafka") -> "SparkKafka":
    """A session of Spark that knows the source, and a broker of this test's own, as `kafka`."""
    from cordwood.testing.spark_kafka import SparkKafka

    return SparkKafka(cordwood_spark, kafka)

"""Pytest plugin with the fixtures `kafka`, `kafka_proxy`, `spark_kafka` and others.

Pytest loads this module in every project that has Cordwood installed. It therefore imports nothing
large: a fixture imports its classes when a test requests it.
"""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cordwood.core.settings import SettingValue
    from cordwood.spark.runtime.session import SparkSession
    from cordwood.testing.kafka_fixture import Kafka
    from cordwood.testing.memory_files import MemoryFiles
    from cordwood.testing.proxy.kafka_proxy import KafkaProxy
    from cordwood.testing.spark_kafka import SparkKafka
    from cordwood.testing.virtual_clock import VirtualClock


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark `kafka`, which configures a test's broker."""
    config.addinivalue_line(
        "markers",
        "kafka(auto_create=True, config={}, files='memory'): configure the broker of `kafka`",
    )


@pytest.fixture
def virtual_clock() -> "VirtualClock":
    """Return a clock that advances only when the test advances it."""
    from cordwood.testing.virtual_clock import VirtualClock

    return VirtualClock()


@pytest.fixture
def memory_files(virtual_clock: "VirtualClock") -> "MemoryFiles":
    """Return an empty file system in memory on the test's clock; a crash drops unsynced data."""
    from cordwood.testing.memory_files import MemoryFiles

    return MemoryFiles(virtual_clock)


@pytest.fixture
def kafka_broker(request: pytest.FixtureRequest) -> "Iterator[Callable[..., Kafka]]":
    """Yield a function that starts a broker; its options are those of the mark `kafka`."""
    from cordwood.testing.kafka_fixture import Kafka, KafkaOptions

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
    """Return this test's own broker on a socket, configured by the mark `kafka`."""
    mark = request.node.get_closest_marker("kafka")
    return kafka_broker(**(mark.kwargs if mark else {}))


@pytest.fixture
def kafka_proxy() -> "Iterator[Callable[[str], KafkaProxy]]":
    """Yield a function that starts a proxy with network faults in front of a cluster."""
    from cordwood.testing.proxy.kafka_proxy import KafkaProxy

    with ExitStack() as running:

        def start(bootstrap: str) -> KafkaProxy:
            proxy = KafkaProxy.start(bootstrap)
            running.callback(proxy.close)
            return proxy

        yield start


@pytest.fixture(scope="session")
def cordwood_spark() -> "Iterator[SparkSession]":
    """Yield the session of `spark_kafka`, one for all tests: the active one, or a new one."""
    from cordwood.testing.spark_kafka import spark_for_tests

    with spark_for_tests() as spark:
        yield spark


@pytest.fixture
def spark_kafka(cordwood_spark: "SparkSession", kafka: "Kafka") -> "SparkKafka":
    """Return a Spark session with the Cordwood source, and this test's own broker, as `kafka`."""
    from cordwood.testing.spark_kafka import SparkKafka

    return SparkKafka(cordwood_spark, kafka)

"""Pytest plugin with the fixtures `kafka`, `kafka_proxy`, `spark_kafka` and others.

Pytest loads this module in every project that has Cordwood installed. It therefore imports nothing
large: a fixture imports its classes when a test requests it.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cordwood.spark.runtime.session import SparkSession
    from cordwood.testing.kafka_fixture import Kafka
    from cordwood.testing.kafka_options import KafkaOptions
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
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Callable[..., Kafka]]":
    """Yield a function that starts a broker; its options are those of the mark `kafka`."""
    from cordwood.testing.kafka_options import options_of

    with ExitStack() as running:

        def start(**arguments: object) -> "Kafka":
            __tracebackhide__ = True
            options = options_of(arguments, owner="kafka_broker")
            return running.enter_context(_running(options, tmp_path_factory))

        yield start


@pytest.fixture
def kafka(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Kafka]":
    """Yield this test's own broker on a socket, configured by the mark `kafka`."""
    with _running(_options_of_mark(request), tmp_path_factory) as kafka:
        yield kafka


@pytest.fixture
def cordwood_kafka(kafka: "Kafka") -> "Kafka":
    """Return the broker of the fixture `kafka`, by a name that no package has."""
    return kafka


@pytest.fixture(scope="module")
def kafka_module(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Kafka]":
    """Yield one broker for all tests of a module, configured by the module's `pytestmark`."""
    with _running(_options_of_mark(request), tmp_path_factory) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def kafka_options() -> "KafkaOptions":
    """Return the options of `kafka_session`; a conftest.py may define its own."""
    from cordwood.testing.kafka_options import KafkaOptions

    return KafkaOptions()


@pytest.fixture(scope="session")
def kafka_session(
    kafka_options: "KafkaOptions", tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Kafka]":
    """Yield one broker for all tests, configured by the fixture `kafka_options`."""
    with _running(kafka_options, tmp_path_factory) as kafka:
        yield kafka


@contextmanager
def _running(options: "KafkaOptions", folders: pytest.TempPathFactory) -> "Iterator[Kafka]":
    """Yield a broker; a fault that was not met fails the test without inner frames."""
    from cordwood.core.errors import SettingError
    from cordwood.testing.broker_faults import FaultNotMetError
    from cordwood.testing.kafka_fixture import Kafka

    if options.is_on_disk and options.directory is None:
        options = replace(options, directory=str(folders.mktemp("kafka-logs")))
    with _failure_of(SettingError):
        kafka = Kafka.start(options)
    try:
        yield kafka
    finally:
        with _failure_of(FaultNotMetError):
            kafka.close()


@contextmanager
def _failure_of(*kinds: type[Exception]) -> "Iterator[None]":
    """Turn errors of these kinds into failures that show their text alone."""
    try:
        yield
    except kinds as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def _options_of_mark(request: pytest.FixtureRequest) -> "KafkaOptions":
    """Return the options of the nearest mark `kafka`; an invalid one fails without frames."""
    from cordwood.testing.kafka_options import options_of

    mark = request.node.get_closest_marker("kafka")
    if mark is None:
        return options_of({}, owner="the mark kafka")
    if mark.args:
        given = ", ".join(map(repr, mark.args))
        pytest.fail(f"the mark kafka takes no argument without a name ({given})", pytrace=False)
    with _failure_of(TypeError, ValueError):
        return options_of(mark.kwargs, owner="the mark kafka")
    raise AssertionError("the mark is valid, or the test has failed")


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

"""The fixture `kafka_proxy`: faults between a client on threads and a broker."""

from collections.abc import Callable

import pytest

import cordwood
from cordwood.core.errors import SettingError
from cordwood.testing.broker_faults import FaultNotMetError
from cordwood.testing.kafka_fixture import Kafka
from cordwood.testing.proxy.kafka_proxy import KafkaProxy

StartProxy = Callable[[str], KafkaProxy]


def test_record_is_written_once_when_the_connection_is_cut(
    kafka: Kafka, kafka_proxy: StartProxy
) -> None:
    proxy = kafka_proxy(kafka.bootstrap)

    with (
        proxy.faults.on("Produce").close(handled=True) as cut,
        cordwood.Producer(proxy.bootstrap) as producer,
    ):
        producer.send("orders", b"3 beams").result()

    assert cut.met == 1
    assert [each.value for each in kafka.records("orders")] == [b"3 beams"]
    assert proxy.connections >= 2


def test_delay_ends_when_the_clock_is_advanced(kafka: Kafka, kafka_proxy: StartProxy) -> None:
    proxy = kafka_proxy(kafka.bootstrap)
    proxy.faults.on("Produce").delay(seconds=20)
    with cordwood.Producer(proxy.bootstrap) as producer:
        delivery = producer.send("orders", b"3 beams")

        while not proxy.faults.counts["delay"]:
            proxy.clock.advance(ms=1)
        proxy.clock.advance(seconds=20)

        assert delivery.result(10).offset == 0


def test_fault_that_was_never_met_fails_the_test(kafka: Kafka) -> None:
    proxy = KafkaProxy.start(kafka.bootstrap)
    proxy.faults.on("Produce").drop()

    with pytest.raises(FaultNotMetError):
        proxy.close()


def test_invalid_address_is_rejected() -> None:
    with pytest.raises(SettingError, match="invalid address"):
        KafkaProxy.start("nowhere")

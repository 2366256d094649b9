"""The record that was written is read back."""

import pytest

from cordwood.core.errors import SparkError
from cordwood.spark.sink.exactly_once.record_access import read_record, write_record
from cordwood.spark.sink.exactly_once.sink_requests import ReadRecord, SinkRequest, WriteRecord
from tests.unit.spark.sink.exactly_once.scripted_brokers import (
    DRIVER,
    NAMES,
    ScriptedBrokers,
    record_of,
)


def test_driver_has_its_next_identity_after_a_write() -> None:
    brokers = ScriptedBrokers()

    after = brokers.run(write_record(NAMES, DRIVER, record=record_of(1)))

    assert after == DRIVER._replace(epoch=DRIVER.epoch + 1)
    assert brokers.run(read_record(NAMES)) == record_of(1)


def test_record_of_another_driver_is_an_error() -> None:
    brokers = ScriptedBrokers()
    answer = brokers.answer

    def raced(request: SinkRequest[object]) -> object:
        found = answer(request)
        if isinstance(request, WriteRecord):
            brokers.record = record_of(9)
        return found

    brokers.answer = raced  # type: ignore[method-assign]  # a fault
    with pytest.raises(SparkError, match="another record"):
        brokers.run(write_record(NAMES, DRIVER, record=record_of(1)))
    assert any(isinstance(each, ReadRecord) for each in brokers.requests)

"""Failures of periodic tasks are reported with what an operator needs to find their cause."""

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.storage.manager.task_failures import TaskFailures
from tests.unit.storage.manager_samples import partition


def reported(error: Exception) -> list[str]:
    events = list[str]()
    TaskFailures(events.append, lambda: events.append("counted")).report(partition(), error)
    return events


def test_failure_is_counted_and_reported() -> None:
    assert reported(KafkaStorageError("no")) == ["counted", "orders-0: maintenance failed: no"]


def test_place_of_an_unexpected_failure_is_reported() -> None:
    with pytest.raises(IndexError) as caught:
        list[int]().pop()

    _, words = reported(caught.value)

    assert words.startswith("orders-0: maintenance failed: IndexError('pop from empty list') at ")
    assert f"{__file__}:" in words

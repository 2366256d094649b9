"""Levels of loggers, shown and changed."""

import logging
from collections.abc import Iterator

import pytest

from cordwood.broker.alterations import Alteration, Operation
from cordwood.broker.loggers import apply_levels, check_levels, describe_loggers
from cordwood.core.config_codes import ConfigSource
from cordwood.core.errors import ClientFaultError

NAME = "cordwood.test.loggers"


@pytest.fixture(autouse=True)
def _logger() -> Iterator[None]:
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.WARNING)
    yield
    logger.setLevel(logging.NOTSET)


def changed(operation: Operation, name: str, value: str | None) -> list[Alteration]:
    return [Alteration(name, operation, value)]


def test_logger_is_shown_with_its_level() -> None:
    (entry,) = describe_loggers([NAME])

    assert (entry.value, entry.source) == ("WARN", ConfigSource.DYNAMIC_BROKER_LOGGER)
    assert NAME in {each.name for each in describe_loggers()}


def test_level_is_set_and_taken_back() -> None:
    change = changed(Operation.SET, NAME, "TRACE")

    check_levels(change)
    apply_levels(change)

    assert describe_loggers([NAME])[0].value == "TRACE"
    apply_levels(changed(Operation.DELETE, NAME, None))
    assert logging.getLogger(NAME).level == logging.NOTSET


@pytest.mark.parametrize(
    ("operation", "name", "value", "told"),
    (
        (Operation.APPEND, NAME, "INFO", "APPEND operation is not allowed for the BROKER_LOGGER"),
        (Operation.DELETE, "cordwood", None, "Removing the log level of the root logger"),
        (Operation.SET, "nobody", "INFO", "Logger nobody does not exist!"),
        (Operation.SET, NAME, "LOUD", "LOUD as it is not a supported log level"),
    ),
)
def test_level_is_refused_that_cannot_be(
    operation: Operation, name: str, value: str | None, told: str
) -> None:
    with pytest.raises(ClientFaultError, match=told):
        check_levels(changed(operation, name, value))

"""Tests of logger levels."""

import logging
from collections.abc import Iterator

import pytest

from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.logger_levels import apply_levels, check_levels, describe_loggers
from cordwood.core.config_codes import ConfigSource
from cordwood.core.errors import ClientFaultError

NAME = "cordwood.test.loggers"


@pytest.fixture(autouse=True)
def _logger() -> Iterator[None]:
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.WARNING)
    yield
    logger.setLevel(logging.NOTSET)


def changed(operation: AlterOperation, name: str, value: str | None) -> list[ConfigAlteration]:
    return [ConfigAlteration(name, operation, value)]


def test_logger_is_shown_with_its_level() -> None:
    (entry,) = describe_loggers([NAME])

    assert (entry.value, entry.source) == ("WARN", ConfigSource.DYNAMIC_BROKER_LOGGER)
    assert NAME in {each.name for each in describe_loggers()}


def test_level_is_set_and_deleted() -> None:
    change = changed(AlterOperation.SET, NAME, "TRACE")

    check_levels(change)
    apply_levels(change)

    assert describe_loggers([NAME])[0].value == "TRACE"
    apply_levels(changed(AlterOperation.DELETE, NAME, None))
    assert logging.getLogger(NAME).level == logging.NOTSET


@pytest.mark.parametrize(
    ("operation", "name", "value", "told"),
    (
        (
            AlterOperation.APPEND,
            NAME,
            "INFO",
            "APPEND operation is not allowed for the BROKER_LOGGER",
        ),
        (AlterOperation.DELETE, "cordwood", None, "Removing the log level of the root logger"),
        (AlterOperation.SET, "no.such", "INFO", "Logger no.such does not exist!"),
        (AlterOperation.SET, NAME, "LOUD", "LOUD as it is not a supported log level"),
    ),
)
def test_invalid_level_is_rejected(
    operation: AlterOperation, name: str, value: str | None, told: str
) -> None:
    with pytest.raises(ClientFaultError, match=told):
        check_levels(changed(operation, name, value))

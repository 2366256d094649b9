"""Altered settings that would keep every client out, or that Kafka refuses, are rejected."""

import re

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import ALL_BROKERS
from cordwood.broker.config.reconfiguration_checks import CHECKS, check_cleaner
from cordwood.core.errors import InvalidRequestError
from cordwood.core.settings import SettingSource
from tests.unit.broker.broker_samples import BrokerHarness, run

PER_IP = (
    "requirement failed: max.connections.per.ip can be set to zero only if"
    " max.connections.per.ip.overrides property is set."
)
MEMORY = (
    "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
)
DOUBLE = "Log cleaner threads cannot be increased to more than double the current value 4"
HALF = "Log cleaner threads cannot be reduced to less than half the current value 4"


def alter(harness: BrokerHarness, **given: str) -> None:
    changes = [
        ConfigAlteration(name.replace("_", "."), AlterOperation.SET, text)
        for name, text in given.items()
    ]
    run(harness.broker.config_changes.alter(ALL_BROKERS, changes, validate_only=False))


def harness(**given: str) -> BrokerHarness:
    """Return a broker with these altered settings."""
    made = BrokerHarness()
    made.configs.apply(ALL_BROKERS, {name.replace("_", "."): text for name, text in given.items()})
    return made


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    (
        ("max.connections", "0", "Invalid max.connections 0"),
        ("max.connections.per.ip", "0", PER_IP),
        ("log.cleaner.threads", "0", "Log cleaner threads should be at least 1"),
        ("log.cleaner.threads", "9", DOUBLE),
        ("log.cleaner.threads", "1", HALF),
        (
            "log.cleaner.dedupe.buffer.size",
            "4194304",
            MEMORY,
        ),
    ),
)
def test_value_that_the_running_broker_cannot_take_is_rejected(
    name: str, text: str, problem: str
) -> None:
    place = harness(log_cleaner_threads="4")

    with pytest.raises(InvalidRequestError, match=f"^{re.escape(problem)}$"):
        alter(place, **{name: text})

    assert place.configs.texts(ALL_BROKERS) == {"log.cleaner.threads": "4"}


def test_cleaner_that_began_without_threads_may_get_one() -> None:
    given = [SettingSource("test", {"log.cleaner.threads": "0"})]
    configs = BrokerConfigs(1, given)

    for check in CHECKS:
        check(configs.planned(ALL_BROKERS, {"log.cleaner.threads": "1"}), configs)
    with pytest.raises(InvalidRequestError, match="more than double the current value 0"):
        check_cleaner(configs.planned(ALL_BROKERS, {"log.cleaner.threads": "2"}), configs)


@pytest.mark.parametrize("text", ("2", "8"))
def test_cleaner_threads_may_be_halved_or_doubled(text: str) -> None:
    place = harness(log_cleaner_threads="4")

    alter(place, log_cleaner_threads=text)

    assert place.configs.integer("log.cleaner.threads") == int(text)


def test_addresses_may_be_refused_except_some() -> None:
    place = harness()

    alter(place, **{"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "::1:5"})

    assert place.configs.integer("max.connections.per.ip") == 0


def test_limit_of_a_listener_is_checked_too() -> None:
    place = harness()
    key = "listener.name.plaintext.max.connections"

    with pytest.raises(InvalidRequestError, match=r"Invalid max\.connections 0"):
        alter(place, **{key: "0"})


def test_values_that_are_not_altered_are_not_checked() -> None:
    """The startup sources are the operator's; other settings can be altered all the same."""
    given = [SettingSource("test", {"max.connections": "0", "log.cleaner.threads": "0"})]
    configs = BrokerConfigs(1, given)

    planned = configs.planned(ALL_BROKERS, {"log.retention.ms": "7"})

    for check in CHECKS:
        check(planned, configs)
    assert planned.integer("log.retention.ms") == 7


def test_exceptions_that_admit_no_connection_do_not_count() -> None:
    place = harness()

    with pytest.raises(InvalidRequestError, match=f"^{re.escape(PER_IP)}$"):
        alter(place, **{"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "::1:0"})

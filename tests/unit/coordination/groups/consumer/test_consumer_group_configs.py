"""A group's own configuration counts within the bounds of the broker."""

import pytest

from cordwood.coordination.groups.consumer.consumer_group_configs import (
    ASSIGNMENT_INTERVAL_MS,
    HEARTBEAT_INTERVAL_MS,
    SESSION_TIMEOUT_MS,
    ConsumerGroupConfigs,
)
from cordwood.coordination.groups.group_settings import GroupSettings


def test_group_without_configuration_has_that_of_the_broker() -> None:
    configs = ConsumerGroupConfigs(GroupSettings())

    assert configs.session_timeout_ms("g") == 45_000
    assert configs.heartbeat_interval_ms("g") == 5_000
    assert configs.assignment_interval_ms("g") == 1_000


@pytest.mark.parametrize(
    ("value", "session_ms", "heartbeat_ms", "assignment_ms"),
    ((0, 45_000, 5_000, 0), (10_000, 45_000, 10_000, 10_000), (99_000, 60_000, 15_000, 15_000)),
)
def test_own_configuration_is_clamped(
    value: int, session_ms: int, heartbeat_ms: int, assignment_ms: int
) -> None:
    configs = ConsumerGroupConfigs(GroupSettings())
    names = (SESSION_TIMEOUT_MS, HEARTBEAT_INTERVAL_MS, ASSIGNMENT_INTERVAL_MS)

    configs.update("g", dict.fromkeys(names, value))

    assert configs.session_timeout_ms("g") == session_ms
    assert configs.heartbeat_interval_ms("g") == heartbeat_ms
    assert configs.assignment_interval_ms("g") == assignment_ms
    assert configs.session_timeout_ms("other") == 45_000


def test_empty_configuration_is_that_of_the_broker() -> None:
    configs = ConsumerGroupConfigs(GroupSettings())
    configs.update("g", {SESSION_TIMEOUT_MS: 50_000})

    configs.update("g", {})
    configs.update("g", {})

    assert configs.session_timeout_ms("g") == 45_000

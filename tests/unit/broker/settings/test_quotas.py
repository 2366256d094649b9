"""Tests of the settings of quotas."""

from cordwood.broker.settings.quotas import QUOTAS
from cordwood.core.binary import INT32_MAX


def test_connections_are_not_limited_by_default() -> None:
    assert QUOTAS["max.connection.creation.rate"].default == INT32_MAX

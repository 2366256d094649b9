"""Tests of the settings of quotas."""

import pytest

from cordwood.broker.settings.quotas import QUOTAS
from cordwood.core.binary import INT64_MAX


@pytest.mark.parametrize("side", ("leader", "follower"))
def test_replication_is_not_throttled_by_default(side: str) -> None:
    assert QUOTAS[f"{side}.replication.throttled.rate"].default == INT64_MAX

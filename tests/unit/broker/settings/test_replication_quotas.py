"""Tests of the settings of replication throttles."""

import pytest

from cordwood.broker.settings.replication_quotas import REPLICATION_QUOTAS
from cordwood.core.binary import INT64_MAX


@pytest.mark.parametrize("side", ("leader", "follower"))
def test_replication_is_not_throttled_by_default(side: str) -> None:
    assert REPLICATION_QUOTAS[f"{side}.replication.throttled.rate"].default == INT64_MAX

"""Throttles of replicas."""

import pytest

from cordwood.broker.settings.quotas import QUOTAS
from cordwood.core.binary import INT64_MAX


@pytest.mark.parametrize("side", ("leader", "follower"))
def test_replication_is_not_throttled_until_somebody_says_so(side: str) -> None:
    assert QUOTAS[f"{side}.replication.throttled.rate"].default == INT64_MAX

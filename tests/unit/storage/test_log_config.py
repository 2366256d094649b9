"""Values that are derived from a topic's configuration."""

import pytest

from cordwood.storage.log_config import COMPACT, DELETE, LogConfig


@pytest.mark.parametrize("policy", ({DELETE}, {COMPACT}, {COMPACT, DELETE}))
def test_policy_decides_between_retention_and_compaction(policy: set[str]) -> None:
    config = LogConfig(cleanup_policy=frozenset(policy))

    assert config.is_deleted == (DELETE in policy)
    assert config.is_compacted == (COMPACT in policy)


def test_compacted_log_rolls_early_when_the_lag_is_shorter() -> None:
    deleted = LogConfig(segment_ms=1000, max_compaction_lag_ms=10)
    compacted = LogConfig(
        segment_ms=1000, max_compaction_lag_ms=10, cleanup_policy=frozenset({COMPACT})
    )

    assert deleted.roll_ms == 1000
    assert compacted.roll_ms == 10

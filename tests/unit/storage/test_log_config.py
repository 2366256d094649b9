"""What follows from a topic's values."""

import pytest

from cordwood.storage.log_config import COMPACT, DELETE, LogConfig


@pytest.mark.parametrize("policy", ({DELETE}, {COMPACT}, {COMPACT, DELETE}))
def test_policy_says_what_happens_to_old_records(policy: set[str]) -> None:
    config = LogConfig(cleanup_policy=frozenset(policy))

    assert (config.is_deleted, config.is_compacted) == (DELETE in policy, COMPACT in policy)


def test_compacted_log_rolls_early_when_the_lag_says_so() -> None:
    deleted = LogConfig(segment_ms=1000, max_compaction_lag_ms=10)
    compacted = LogConfig(
        segment_ms=1000, max_compaction_lag_ms=10, cleanup_policy=frozenset({COMPACT})
    )

    assert (deleted.roll_ms, compacted.roll_ms) == (1000, 10)

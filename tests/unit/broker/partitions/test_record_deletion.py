"""Records are deleted up to an offset, unless their topic is only compacted."""

import pytest

from cordwood.broker.partitions.record_deletion import delete_records
from cordwood.core.errors import OffsetOutOfRangeError, PolicyViolationError
from cordwood.storage.log_config import COMPACT, DELETE, LogConfig
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.storage.log_samples import batch


@pytest.mark.parametrize("policies", ({DELETE}, {COMPACT, DELETE}))
def test_log_start_advances_up_to_the_high_watermark(policies: set[str]) -> None:
    harness = BrokerHarness(LogConfig(cleanup_policy=frozenset(policies)))
    orders = harness.host()
    orders.append(memoryview(batch(4)))

    assert delete_records(harness.manager, orders.log, to=2) == 2
    assert delete_records(harness.manager, orders.log, to=-1) == 4
    with pytest.raises(OffsetOutOfRangeError):
        delete_records(harness.manager, orders.log, to=5)


def test_records_of_a_topic_that_is_only_compacted_stay() -> None:
    harness = BrokerHarness(LogConfig(cleanup_policy=frozenset({COMPACT})))
    orders = harness.host()

    with pytest.raises(PolicyViolationError, match="compact alone"):
        delete_records(harness.manager, orders.log, to=0)

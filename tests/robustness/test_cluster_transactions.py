"""Three brokers, each of which is killed once, with transactions and groups at work."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.robustness.cluster_chaos import cluster
from tests.robustness.cluster_transactions import (
    PROTOCOLS,
    TOPIC,
    GroupMember,
    TransactionLedger,
    read_committed,
    working,
)

pytestmark = pytest.mark.timeout(600)

#: Transactions before and after each kill.
_BETWEEN = 30


def test_transactions_stay_atomic_and_members_keep_their_partitions(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    """The brokers coordinate, lead partitions of transactions, and are the controller in turn."""
    ledger, members = TransactionLedger(), [GroupMember(each) for each in PROTOCOLS]
    with cluster(tmp_path) as processes:
        processes.create_topic(TOPIC)
        processes.wait_until_in_sync(TOPIC)
        with working(processes.bootstrap, ledger, members):
            for broker in processes.brokers:
                ledger.wait_for_more(_BETWEEN)
                broker.kill()
                ledger.wait_for_more(_BETWEEN)
                broker.start()
                processes.wait_until_in_sync(TOPIC)
        found = read_committed(processes.bootstrap)
        codes = [broker.stop() for broker in processes.brokers]

    report(
        f"cluster: {len(ledger.committed)} transactions committed, {len(ledger.aborted)} aborted"
    )
    assert ledger.faults(found) == []
    assert [each.assignments for each in members] == [1, 1]
    assert [max(each.seen.values()) for each in members] == [1, 1]
    assert codes == [0, 0, 0]

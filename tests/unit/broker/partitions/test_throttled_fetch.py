"""Tests of fetches by followers whose leader throttles them."""

from collections.abc import Callable

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.delayed_fetch import FetchParams, PartitionFetchResult, fetch
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_fetch import PartitionFetch
from cordwood.cluster.partition.leader import Leader
from cordwood.storage.log.log_read import FetchIsolation
from tests.unit.broker.broker_samples import BrokerHarness, loop_turns, meanwhile, run
from tests.unit.storage.log_samples import batch

SIZE = len(batch())
IN_SYNC, BEHIND = 2, 3


class Throttled:
    """A leader with a record, a follower in sync and one that is behind, at a limit of a byte."""

    def __init__(self, *, partitions: int = 1) -> None:
        self.harness = BrokerHarness()
        self.harness.host(*(0,) * partitions)
        self.quota = self.harness.broker.throttles.leader
        self.quota.limit = 1
        self.quota.throttle("orders", [0])
        self.partitions = [
            self.harness.broker.partitions.get("orders", index) for index in range(partitions)
        ]
        for each in self.partitions:
            each.apply(PartitionImage((1, IN_SYNC, BEHIND), (1, IN_SYNC), 1, 0))
            self.append(each)

    @property
    def orders(self) -> Partition:
        return self.partitions[0]

    def append(self, to: Partition) -> None:
        to.append(memoryview(batch()))

    def fetch(
        self, replica_id: int, *steps: Callable[[], object], wait_ms: int = 0, offset: int = 0
    ) -> tuple[list[bool], list[PartitionFetchResult]]:
        params = FetchParams(
            max_bytes=1 << 20,
            min_bytes=1,
            max_wait_ms=wait_ms,
            isolation=FetchIsolation.LOG_END,
            replica_id=replica_id,
            quota=self.quota,
        )
        fetching = fetch(
            [PartitionFetch(each, offset, 1 << 20) for each in self.partitions],
            params,
            turns=loop_turns(),
            clock=self.harness.time,
            scheduler=self.harness.time,
            stopping=self.harness.connection.stopping,
        )
        return run(meanwhile(fetching, *steps))

    def sizes(self, replica_id: int) -> list[int]:
        _, found = self.fetch(replica_id)
        return [each.length for each in found]


def test_follower_behind_gets_no_records_above_the_limit() -> None:
    throttled = Throttled()

    assert [throttled.sizes(BEHIND), throttled.sizes(BEHIND)] == [[SIZE], [0]]


def test_follower_in_sync_gets_its_records_and_they_count() -> None:
    throttled = Throttled()

    assert [throttled.sizes(IN_SYNC), throttled.sizes(IN_SYNC)] == [[SIZE], [SIZE]]
    assert throttled.sizes(BEHIND) == [0]


def test_other_partitions_are_not_throttled_and_do_not_count() -> None:
    throttled = Throttled(partitions=2)
    throttled.quota.throttle("orders", [1])

    assert [throttled.sizes(BEHIND), throttled.sizes(BEHIND)] == [[SIZE, SIZE], [SIZE, 0]]
    assert throttled.quota.rate == SIZE


def test_throttled_result_has_the_bounds_and_the_fetch_is_recorded() -> None:
    throttled = Throttled()
    throttled.sizes(BEHIND)
    role = throttled.orders.role
    assert isinstance(role, Leader)

    _, (found,) = throttled.fetch(BEHIND, offset=1)
    _, (again,) = throttled.fetch(BEHIND)

    replica = role.replica(BEHIND)
    assert replica is not None
    assert replica.log_end == 0
    for each in (found, again):
        assert each.read is not None
        assert (each.read.log_end, each.length, each.is_throttled) == (1, 0, True)


def test_throttled_fetch_waits_although_there_are_records() -> None:
    throttled = Throttled()
    throttled.sizes(BEHIND)

    over, (found,) = throttled.fetch(
        BEHIND,
        lambda: throttled.append(throttled.orders),
        lambda: throttled.harness.time.advance(ms=500),
        wait_ms=500,
    )

    assert (over, found.length) == ([False, False], 0)


def test_throttled_fetch_reads_at_its_end_if_the_rate_has_fallen() -> None:
    throttled = Throttled()
    throttled.sizes(BEHIND)

    over, (found,) = throttled.fetch(
        BEHIND,
        lambda: setattr(throttled.quota, "limit", SIZE),
        lambda: throttled.harness.time.advance(ms=500),
        wait_ms=500,
    )

    assert (over, found.length) == ([False, False], SIZE)


def test_throttled_partition_does_not_hold_up_records_of_another_one() -> None:
    throttled = Throttled(partitions=2)
    throttled.sizes(BEHIND)

    _, found = throttled.fetch(BEHIND, wait_ms=500)

    assert [each.length for each in found] == [0, SIZE]


def test_throttled_fetch_ends_with_the_leadership() -> None:
    throttled = Throttled()
    throttled.sizes(BEHIND)

    over, (found,) = throttled.fetch(
        BEHIND,
        lambda: throttled.orders.apply(PartitionImage((1, 2, 3), (1, 2), 2, 1)),
        wait_ms=500,
    )

    assert over == [False]
    assert found.error is not None

"""An append that needs other files waits for a worker, and later appends wait behind it."""

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.core.errors import NotLeaderOrFollowerError
from cordwood.storage.log_config import LogConfig
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.broker.partitions.test_partition_leader import append, finish, high_watermark
from tests.unit.storage.log_samples import batch
from tests.unit.storage.manager_samples import HeldWorker


def test_append_creates_no_file_on_the_loop() -> None:
    worker = HeldWorker(holds_files=True)
    harness = BrokerHarness(LogConfig(segment_bytes=len(batch())), worker=worker)
    orders, script = harness.host(), harness.storage.files.script
    changes = ("create", "rename", "remove", "truncate", "preallocate", "stat")

    for end in (1, 2, 3):
        armed = [script.add(FileFault(on=each, times=99)) for each in changes]
        pending = append(orders, batch())
        for each in armed:
            script.remove(each)
        before = pending.done(), high_watermark(orders)
        finish(worker)

        assert (before, pending.done(), high_watermark(orders)) == ((False, end - 1), True, end)

    assert orders.log.base_offsets == (0, 1, 2)


def test_appends_behind_a_roll_keep_their_order() -> None:
    worker = HeldWorker(holds_files=True)
    orders = BrokerHarness(LogConfig(segment_bytes=2 * len(batch())), worker=worker).host()

    pending = [append(orders, batch()) for _ in range(5)]
    before = [each.done() for each in pending]
    finish(worker)

    assert before == [False] * 5
    assert [each.result().result.first_offset for each in pending] == [0, 1, 2, 3, 4]
    assert orders.log.base_offsets == (0, 2, 4)


def test_append_that_waits_for_files_fails_with_the_leadership() -> None:
    worker = HeldWorker(holds_files=True)
    orders = BrokerHarness(worker=worker).host()
    pending = append(orders, batch())

    orders.apply(PartitionImage((1, 2), (1, 2), 2, 5))
    finish(worker)

    assert isinstance(pending.exception(), NotLeaderOrFollowerError)
    assert orders.log.bounds.log_end == 0


def test_roll_is_followed_by_a_flush() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(LogConfig(segment_bytes=len(batch())), worker=worker).host()
    append(orders, batch())
    append(orders, batch())

    finish(worker)

    assert orders.log.bounds.recovery_point == 2

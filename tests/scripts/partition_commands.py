"""Commands of the family `partition`: one partition of broker 1, its roles and what counts.

The worker of the broker runs its calls in `work`: fsyncs, and the preparation of large appends. The
outcome of a command is a line for each append and each fetch whose wait has ended by it, and then
the bounds of the log.
"""

from functools import partial
from typing import Final

from cordwood.broker.metadata.metadata_image import PartitionImage, TopicImage
from cordwood.broker.partitions.offset_waiters import OffsetWaiter
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import AppendRequest, PartitionAppendResult
from cordwood.broker.partitions.partition_role import Follower, Offline
from cordwood.cluster.partition.leader import Leader
from cordwood.core.errors import KafkaError
from cordwood.core.ports import Pending
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from tests.scripts.log_under_test import configured
from tests.scripts.transcript import ScriptError, error_name
from tests.unit.broker.broker_samples import ORDERS, BrokerHarness
from tests.unit.broker.image_samples import host
from tests.unit.storage.log_samples import batch
from tests.unit.storage.manager_samples import ORDERS_ID, HeldWorker, partition

_ISOLATIONS: Final = {
    "log_end": FetchIsolation.LOG_END,
    "read_uncommitted": FetchIsolation.HIGH_WATERMARK,
    "read_committed": FetchIsolation.TXN_COMMITTED,
}


class PartitionCommands:
    """Broker 1 with one partition; other brokers exist only in the states of the partition."""

    def __init__(self) -> None:
        self._worker = HeldWorker()
        self._broker = BrokerHarness(worker=self._worker)
        self._events = list[str]()
        self._waiters = dict[str, OffsetWaiter]()

    def topic(self, **configs: str) -> None:
        """Create the partition's log, with the topic's configuration."""
        self._broker = BrokerHarness(configured(LogConfig(), configs), worker=self._worker)
        log_creation.create(self._broker.manager, partition(), topic_id=ORDERS_ID)

    def state(
        self, *, leader: int, epoch: int, isr: str = "1", replicas: str = "", saved: bool = True
    ) -> str:
        """Apply a state of the partition; a new epoch is saved at once unless `saved=false`."""
        in_sync = tuple(int(each) for each in isr.split(","))
        assigned = tuple(int(each) for each in replicas.split(",")) if replicas else in_sync
        image = PartitionImage(assigned, in_sync, leader, epoch)
        host(self._broker.broker.partitions, TopicImage(ORDERS, ORDERS_ID, (image,)))
        if saved and isinstance(self._partition.role, Leader):
            self._partition.log.epoch_file.save()
        return self._outcome(role_text(self._partition))

    def append(
        self, name: str, *, acks: str = "all", records: int = 1, timeout: int = 30_000
    ) -> str:
        """Append a batch as a producer would; 1,000 records are too many for the loop."""
        request = AppendRequest(-1 if acks == "all" else int(acks), timeout)
        pending = self._partition.append(memoryview(batch(records)), request)
        pending.add_done_callback(partial(self._append_ended, name))
        return self._outcome("" if pending.done() else f"{name} waits")

    def fetch(self, *, replica: int, offset: int) -> str:
        """Fetch as a follower, which has the records below the offset."""
        epoch = self._partition.leader_epoch
        self._partition.follower(replica, leader_epoch=epoch)(offset)
        return self._outcome()

    def wait(self, name: str, *, batches: int, isolation: str = "read_uncommitted") -> str:
        """Wait as a fetch whose reader wants the bytes of some more batches."""
        kind = _ISOLATIONS[isolation]
        now = self._partition.readable_position(kind)
        assert now is not None, "the partition is online"
        self._waiters[name] = self._partition.wait_for(
            now._replace(bytes=now.bytes + batches * len(batch())),
            lambda: self._events.append(f"{name} wakes"),
            isolation=kind,
        )
        return self._outcome(f"{name} waits for {batches}")

    def cancel(self, name: str) -> None:
        """End the wait of a fetch, as its time does."""
        self._waiters.pop(name).cancel()

    def work(self) -> str:
        """Run the calls that the worker has at this moment."""
        if not self._worker.held:
            raise ScriptError("the worker has nothing to do")
        self._worker.go_on()
        return self._outcome()

    def time(self, time: int) -> str:
        """Advance the clock of the network."""
        self._broker.time.advance(ms=time)
        return self._outcome()

    def fail_directory(self) -> str:
        """Take the log directory of the partition offline."""
        manager = self._broker.manager
        manager.fail(manager.directory_of(self._partition.log), OSError("input/output error"))
        return self._outcome(role_text(self._partition))

    def delete_topic(self) -> str:
        """Delete the topic."""
        partition = self._partition
        self._broker.drop()
        return "\n".join((*self._take_events(), role_text(partition)))

    @property
    def _partition(self) -> Partition:
        return self._broker.broker.partitions.get(ORDERS, 0)

    def _append_ended(self, name: str, pending: Pending[PartitionAppendResult]) -> None:
        error = pending.exception()
        if error is None:
            result = pending.result().result
            self._events.append(f"{name} counts, {result.first_offset}-{result.last_offset}")
        elif isinstance(error, KafkaError):
            self._events.append(f"{name} fails, {error_name(error)}")
        else:
            raise error

    def _take_events(self) -> list[str]:
        events, self._events = self._events, []
        return events

    def _outcome(self, first: str = "") -> str:
        lines = [first, *self._take_events()]
        role = self._partition.role
        if isinstance(role, Leader):
            bounds = self._partition.log.bounds
            lines.append(
                f"own end {role.own_end}, high watermark {bounds.high_watermark}, "
                f"log end {bounds.log_end}"
            )
        return "\n".join(line for line in lines if line)


def role_text(of: Partition) -> str:
    """Return the role of a partition in words."""
    match of.role:
        case Leader(epoch=epoch, isr=isr):
            return f"leader, epoch {epoch}, isr {','.join(map(str, isr))}"
        case Follower(leader=leader, epoch=epoch):
            return f"follower of {leader}, epoch {epoch}"
        case Offline(error=error):
            return f"offline, {error_name(error)}"

"""A log that this broker leads, in one leader epoch: appends, and the records that count.

Kafka: `Partition.appendRecordsToLeader`, `Partition.maybeIncrementLeaderHW`.

    append            checks `min.insync.replicas` and the records, writes; done when they count
    append_internal   the same for a coordinator's own records
    append_marker     ends a transaction in this log
    record_fetch      a follower has the records below its fetch offset
    shrink_isr        followers that have fallen behind leave the in-sync replicas
    update            other replicas are assigned, or in sync
    use               the log has moved to another directory
    close             the leadership has ended: all appends that wait get the error

Records that take long to check or to compress are prepared on the worker, and written in the order
of the appends. An append that rolls waits for the files of the next segment. The flush that
`flush.messages` asks for runs on the worker too. One flush at a time serves all appends before it,
and the next one those that arrived meanwhile.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Final, NamedTuple, Protocol

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.append_queue import AppendQueue
from cordwood.broker.partitions.delayed_produce import DelayedProduce
from cordwood.broker.partitions.fetch_wakes import FetchWakes
from cordwood.broker.pending_results import Completed
from cordwood.cluster.partition.alter_partition_manager import SubmittedProposal
from cordwood.cluster.partition.in_sync_replicas import AlteredIsr, IsrProposal
from cordwood.cluster.partition.leader import AssignedReplicas, LagCheck, Leader, ProposalOutcome
from cordwood.core.errors import KafkaError, OffsetNotAvailableError, UnknownServerError
from cordwood.core.ports import Clock, Lane, Pending, Scheduler
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import NO_UUID
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_checks import Inspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.append_job import PreparedRecords
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import AppendContext, AppendResult
from cordwood.storage.manager.log_changes import prepare_append
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager

#: The time before a flush that has failed is tried again.
RETRY_MS: Final = 1_000
#: Required acknowledgements: all in-sync replicas.
ACKS_ALL: Final = -1


class InSyncReplicas(Protocol):
    """Changes of in-sync replicas, which the controller of a cluster decides."""

    def lag_check(self, leader_end: int) -> LagCheck:
        """Return a check of the followers' lags now, for a leader whose log ends there."""

    def submit(
        self, proposal: SubmittedProposal, answered: Callable[[AlteredIsr | int], object]
    ) -> None:
        """Send a proposal to the controller; `answered` gets its state, or an error code."""


class PartitionResources(NamedTuple):
    """Resources that the partitions of one broker share.

    `inspector` returns the record checks to use now. `clock` and `scheduler` are the network's.
    `wakes` wakes the waiting fetches of all partitions. A broker without a cluster has no followers
    and no `isr`.
    """

    node_id: int
    manager: LogManager
    flusher: LogFlusher
    inspector: Callable[[], Inspector]
    clock: Clock
    scheduler: Scheduler
    wakes: FetchWakes
    isr: InSyncReplicas | None = None
    #: Called with the name of a partition that has another role.
    on_role: Callable[[TopicPartition], object] = lambda _: None


class AppendRequest(NamedTuple):
    """Required acknowledgements and their time, None without limit; origin of the records."""

    acks: int = ACKS_ALL
    timeout_ms: int | None = None
    context: AppendContext = AppendContext()


FOR_ALL_REPLICAS: Final = AppendRequest()
#: The append of a coordinator on this broker.
INTERNAL: Final = AppendRequest(context=AppendContext(AppendOrigin.COORDINATOR))


class PartitionAppendResult(NamedTuple):
    """A written record set that counts, and the log start offset at that time."""

    result: AppendResult
    log_start: int


class PartitionLeader:  # tidy: allow[class-lines] one state machine
    """The leadership of one partition; `on_change` is called when a bound of the log may move."""

    __slots__ = (
        "_delayed",
        "_ended",
        "_flushed_to",
        "_has_retry",
        "_is_flushing",
        "_on_change",
        "_queue",
        "_resources",
        "_use",
        "log",
        "role",
    )

    def __init__(
        self, role: Leader, log: Log, resources: PartitionResources, on_change: Callable[[], object]
    ) -> None:
        self.role: Final = role
        self.log = log
        self._resources = resources
        self._use = resources.manager.using(log)
        self._on_change = on_change
        self._delayed = DelayedProduce[PartitionAppendResult](resources.clock, resources.scheduler)
        #: Made with the first append that waits.
        self._queue: AppendQueue[PreparedRecords, PartitionAppendResult] | None = None
        #: The base offset up to which the segments are flushed, or will be.
        self._flushed_to = log.active_base
        self._is_flushing = False
        self._has_retry = False
        #: The error of the ended leadership.
        self._ended: KafkaError | None = None

    def begin(self) -> None:
        """Begin the epoch at the log end; the records that the log has already count.

        Those that `flush.messages` wants synced count after a flush, which begins now.
        """
        log = self.log
        log.epoch_file.assign(self.role.epoch, self.role.epoch_start)
        if self._is_flush_required():
            self.role.advance_own_end(log.bounds.recovery_point)
            self._flush()
        else:
            self.role.advance_own_end(log.bounds.log_end)
        self._advance_high_watermark()

    def close(self, error: KafkaError) -> None:
        """End the leadership: no append that waits will be acknowledged, and none may follow."""
        self._ended = error
        if self._queue is not None:
            self._queue.fail(error)
        self._delayed.fail(error)

    def use(self, log: Log) -> None:
        """Continue with another log, which has the same records and is durable."""
        log.epoch_file.assign(self.role.epoch, self.role.epoch_start)
        self.log = log
        self._use = self._resources.manager.using(log)
        self._flushed_to = log.active_base

    def ensure_high_watermark(self) -> None:
        """Raise while the high watermark may be below one that clients have seen.

        It is checkpointed with a delay. From the start of the epoch on it has caught up.
        """
        bounds = self.log.bounds
        if bounds.high_watermark < self.role.epoch_start:
            raise OffsetNotAvailableError(
                f"{self.log.partition}: the high watermark {bounds.high_watermark} is below the "
                f"start of the leader epoch, {self.role.epoch_start}"
            )

    # -- appends

    def append(
        self, records: memoryview, request: AppendRequest = FOR_ALL_REPLICAS
    ) -> Pending[PartitionAppendResult]:
        """Append a record set; its offsets are written into `records` itself.

        A duplicate has the offsets of the first append, and counts when that append does. Raises
        the error of a record set that is rejected at once; otherwise the result carries it.
        """
        self.ensure_allowed(request)
        job = self.log.begin_append(
            records, inspector=self._resources.inspector(), origin=request.context.origin
        )
        if not job.is_small or self._queue:
            worker = self._resources.manager.ports.worker
            submitted = worker.submit(job.run, lane=Lane.COMPUTE)
            return self._ensure_queue().add(submitted, partial(self._write_queued, request=request))
        prepared = job.run()
        change = self._change_files(prepared)
        if change is None:
            return self._write(prepared, request)
        write = partial(self._write_queued, request=request)
        return self._ensure_queue().add_first(Completed(prepared), write, change=change)

    def append_internal(self, records: memoryview) -> Pending[PartitionAppendResult]:
        """Append records of a coordinator on this broker, for all in-sync replicas."""
        return self.append(records, INTERNAL)

    def append_marker(
        self,
        marker: EndTransaction,
        *,
        producer_id: int,
        producer_epoch: int,
        is_strict: bool = False,
    ) -> Pending[PartitionAppendResult]:
        """Append the marker that ends a producer's transaction; the result has the transaction.

        A strict marker, of transactions v2, must have a higher epoch than an open transaction.
        """
        fields = BatchFields(producer_id=producer_id, producer_epoch=producer_epoch)
        now_ms = self._resources.manager.ports.clock.now_ms()
        batch = control_batch(marker, fields, timestamp=now_ms)
        context = AppendContext(AppendOrigin.COORDINATOR, is_strict_on_markers=is_strict)
        return self.append(memoryview(batch), AppendRequest(context=context))

    def _ensure_queue(self) -> AppendQueue[PreparedRecords, PartitionAppendResult]:
        if self._queue is None:
            call_soon = self._resources.manager.options.call_soon
            self._queue = AppendQueue(call_soon, self._change_files)
        return self._queue

    def _change_files(self, prepared: PreparedRecords) -> Pending[None] | None:
        """Return the change of files that must end before this write."""
        return prepare_append(self._resources.manager, self.log, use=self._use, prepared=prepared)

    def _write_queued(
        self, prepared: PreparedRecords, *, request: AppendRequest
    ) -> Pending[PartitionAppendResult]:
        """Write records that have waited; replicas may have fallen out of sync meanwhile."""
        self.ensure_allowed(request)
        return self._write(prepared, request)

    def _write(
        self, prepared: PreparedRecords, request: AppendRequest
    ) -> Pending[PartitionAppendResult]:
        """Write prepared records into files that are ready; done when the records count."""
        log, role = self.log, self.role
        with self._use:
            result = log.finish_append(
                prepared, leader_epoch=role.epoch, context=request.context, has_files=True
            )
        if log.active_base != self._flushed_to:
            self._flushed_to = log.active_base
            self._resources.flusher.flush(log)
        appended = PartitionAppendResult(result, log.bounds.log_start)
        if self._depends_on_disk():
            # The wait begins before the flush, which may fail at once.
            pending = self._wait(appended, request)
            if not self._is_flushing:
                self._flush()
            self._advance_high_watermark()
            return pending
        role.advance_own_end(log.bounds.log_end)
        self._advance_high_watermark()
        counted = log.bounds.high_watermark if request.acks == ACKS_ALL else role.own_end
        if result.last_offset < counted:
            return Completed(appended)
        return self._wait(appended, request)

    def _wait(
        self, appended: PartitionAppendResult, request: AppendRequest
    ) -> Pending[PartitionAppendResult]:
        return self._delayed.wait(
            appended.result.last_offset + 1,
            appended,
            needs_all_replicas=request.acks == ACKS_ALL,
            timeout_ms=request.timeout_ms,
        )

    def ensure_allowed(self, request: AppendRequest) -> None:
        """Raise if the leadership has ended, or if too few replicas are in sync."""
        if self._ended is not None:
            # A raised error keeps its frames, and with them the records.
            raise copy(self._ended)
        if request.acks == ACKS_ALL:
            self.role.ensure_min_isr(self.log.partition, self.log.config.min_insync_replicas)

    # -- records that count

    def record_fetch(
        self, replica_id: int, offset: int, *, log_start: int, broker_epoch: int
    ) -> None:
        """Store the fetch offset and log start of a follower, and advance the high watermark.

        A follower that has caught up is proposed for the in-sync replicas.
        """
        replica, resources = self.role.replica(replica_id), self._resources
        if self._ended is not None or replica is None:
            return
        bounds, now_ms = self.log.bounds, resources.clock.monotonic_ms()
        replica.record_fetch(
            offset,
            leader_end=bounds.log_end,
            now_ms=now_ms,
            log_start=log_start,
            broker_epoch=broker_epoch,
        )
        if resources.isr is not None and replica_id not in self.role.isr:
            self._propose(
                self.role.propose_expansion(
                    replica_id,
                    high_watermark=bounds.high_watermark,
                    eligible=resources.isr.lag_check(bounds.log_end).eligible,
                )
            )
        self._advance_high_watermark()

    def shrink_isr(self) -> None:
        """Propose to remove the followers that have fallen behind."""
        isr = self._resources.isr
        if isr is not None and self._ended is None:
            self._propose(self.role.propose_shrink(isr.lag_check(self.log.bounds.log_end)))

    def update(self, state: PartitionImage) -> None:
        """Use other replicas; with too few in sync, no append for all replicas counts."""
        self.role.update(AssignedReplicas(state.replicas, state.isr, state.partition_epoch))
        self._use_changed_isr()

    def _propose(self, proposal: IsrProposal | None) -> None:
        """Send a proposal to the controller, if there is one."""
        isr, partition = self._resources.isr, self.log.partition
        if proposal is not None and isr is not None:
            topic_id = self._resources.manager.topic_id(partition)
            answered = partial(self._complete_proposal, proposal)
            isr.submit(SubmittedProposal(partition, topic_id or NO_UUID, proposal), answered)

    def _complete_proposal(self, proposal: IsrProposal, answer: AlteredIsr | int) -> None:
        if self._ended is not None:
            return
        outcome = self.role.complete(proposal, answer)
        if outcome is ProposalOutcome.RETRY:
            self._propose(proposal)
        elif outcome is ProposalOutcome.COMMITTED:
            self._use_changed_isr()

    def _use_changed_isr(self) -> None:
        """Reject the appends that wait for too few replicas; others may count now."""
        wanted = self.log.config.min_insync_replicas
        error = self.role.error_after_append(self.log.partition, wanted)
        if error is not None:
            self._delayed.fail(error, only_all_replicas=True)
        self._advance_high_watermark()

    def _depends_on_disk(self) -> bool:
        """Return whether the last records count only after a flush, or a saved leader epoch."""
        return self.log.epoch_file.has_unsaved or self._is_flush_required()

    def _is_flush_required(self) -> bool:
        """Return whether appends wait for a flush: `flush.messages` records are not synced."""
        return self.log.bounds.unflushed >= self.log.config.flush_messages

    def _flush(self) -> None:
        self._is_flushing = True
        log, flusher = self.log, self._resources.flusher
        flush = flusher.flush(log) if self._is_flush_required() else flusher.save_epochs(log)
        flush.add_done_callback(partial(self._complete_flush, log))

    def _complete_flush(self, log: Log, flush: Pending[None]) -> None:
        self._is_flushing = False
        # A log that was replaced meanwhile is durable up to its end.
        error = flush.exception() if log is self.log else None
        if self._ended is not None:
            return
        if error is None:
            self._count_flushed()
            return
        words = f"{self.log.partition}: the flush has failed: {error!r}"
        self._delayed.fail(error if isinstance(error, KafkaError) else UnknownServerError(words))
        # The log can still be used, and perhaps no append follows that would begin a flush.
        if not self._has_retry:
            self._has_retry = True
            clock, scheduler = self._resources.clock, self._resources.scheduler
            scheduler.call_at(clock.monotonic_ms() + RETRY_MS, self._retry)

    def _retry(self) -> None:
        self._has_retry = False
        if self._ended is None and not self._is_flushing:
            self._count_flushed()

    def _count_flushed(self) -> None:
        """Count the records that are durable by now; begin the next flush if one is needed."""
        if not self.log.epoch_file.has_unsaved:
            self.role.advance_own_end(self.log.bounds.recovery_point)
        if self._depends_on_disk():
            self._flush()
        else:
            self.role.advance_own_end(self.log.bounds.log_end)
        self._advance_high_watermark()

    def _advance_high_watermark(self) -> None:
        log, role, isr = self.log, self.role, self._resources.isr
        check = None if isr is None else isr.lag_check(log.bounds.log_end)
        end = role.committed_end(log.config.min_insync_replicas, check=check)
        if end is not None and end > log.bounds.high_watermark:
            log.set_high_watermark(end)
        if self._delayed:
            self._delayed.reach(own_end=role.own_end, high_watermark=log.bounds.high_watermark)
        self._on_change()

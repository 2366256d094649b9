"""Partition of a simulation in one leader epoch, as coordinators and verifiers take it."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime.internal_batches import encode_batch
from cordwood.coordination.runtime.open_batch import OpenBatch
from cordwood.core.errors import NotLeaderOrFollowerError
from cordwood.core.ports import Pending
from cordwood.core.types import TopicPartition
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.producers.verification_guard import VerificationGuard
from tests.simulation.simulated_log import SimulatedAppend, SimulatedLog
from tests.simulation.world import World


class LedLog:
    """A partition in one leader epoch (an `InternalLog`, and what a verifier takes)."""

    def __init__(self, log: SimulatedLog, name: TopicPartition, epoch: int, world: World) -> None:
        self.name: Final = name
        self.guard: VerificationGuard | None = None
        self.is_led = True
        self._log = log
        self._epoch = epoch
        self._world = world

    @property
    def partition(self) -> int:
        return self.name.partition

    @property
    def leader_epoch(self) -> int:
        return self._epoch

    @property
    def led_log(self) -> SimulatedLog:
        """The log, whose producers a verification starts with."""
        return self._log

    def encode(
        self, records: Sequence[CoordinatorRecord], *, producer: TransactionalProducer | None = None
    ) -> bytearray:
        return encode_batch(records, now_ms=self._world.clock.now_ms(), producer=producer)

    def append(
        self,
        records: Sequence[CoordinatorRecord],
        *,
        producer: TransactionalProducer | None = None,
        batch: bytearray | None = None,
    ) -> Pending[int]:
        self.ensure_led()
        if batch is None:
            batch = self.encode(records, producer=producer)
        guard = None
        if producer is not None:
            guard, self.guard = self.guard, None
        return self._log.append(batch, AppendContext(AppendOrigin.COORDINATOR, guard))

    def open_batch(self) -> OpenBatch:
        self.ensure_led()
        return OpenBatch(self._append_built, most_bytes=1 << 20)

    def _append_built(self, batch: bytearray) -> Pending[int]:
        self.ensure_led()
        return self._log.append(batch, AppendContext(AppendOrigin.COORDINATOR))

    def append_marker(self, marker: TransactionMarker) -> SimulatedAppend:
        self.ensure_led()
        fields = BatchFields(producer_id=marker.producer_id, producer_epoch=marker.producer_epoch)
        control = EndTransaction(marker.is_commit, marker.coordinator_epoch)
        batch = control_batch(control, fields, timestamp=self._world.clock.now_ms())
        context = AppendContext(
            AppendOrigin.COORDINATOR, is_strict_on_markers=marker.transaction_version >= 2
        )
        return self._log.append(batch, context)

    def start_verification(
        self, producer: TransactionalProducer, *, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """Return the guard of a transaction to verify; None if it is open in this partition."""
        return self._log.producers.start_verification(
            producer.producer_id,
            sequence=0,
            epoch=producer.producer_epoch,
            now_ms=self._world.clock.now_ms(),
            supports_epoch_bump=supports_epoch_bump,
        )

    async def load(self) -> AsyncIterator[memoryview]:
        for batch in [*self._log.batches]:
            self.ensure_led()
            yield memoryview(batch.data)

    async def wait_until_committed(self) -> None:
        self.ensure_led()

    def ensure_led(self) -> None:
        """Raise the error of a log whose leadership has ended."""
        if not self.is_led:
            raise NotLeaderOrFollowerError(f"{self.name} has another leader")

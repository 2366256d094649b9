"""Commands of the family `producers`: idempotent and transactional producers of one log."""

from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from tests.scripts.log_under_test import LogUnderTest, appended, bounds_of, sized_batch, span
from tests.unit.storage.log_samples import lead, offsets, read


class ProducerCommands(LogUnderTest):
    """A log with its producers, its transactions, and its transaction index."""

    def expiration(self, time: int) -> None:
        """Set `producer.id.expiration.ms`, before the log is created."""
        self._harness.producers = ProducerStateManagerConfig(
            id_expiration_ms=time, is_verifying_transactions=False
        )

    def append(
        self,
        *,
        producer: int = -1,
        epoch: int = 0,
        sequence: int = -1,
        records: int = 1,
        transactional: bool = False,
    ) -> str:
        """Append a batch as a client sends it; without a producer it is not idempotent."""
        fields = BatchFields(
            producer_id=producer,
            producer_epoch=-1 if producer < 0 else epoch,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        now_ms = self._harness.clock.now_ms()
        batch = sized_batch(100 + 8 * records, records=records, timestamp=now_ms, into=fields)
        return appended(lead(self.log, batch))

    def commit(
        self, producer: int, *, epoch: int = 0, coordinator_epoch: int = 0, version: int = 1
    ) -> str:
        """Append a COMMIT marker; `version` is `transaction.version`."""
        return self._end(EndTransaction(True, coordinator_epoch), (producer, epoch), version)  # noqa: FBT003 - a field

    def abort(
        self, producer: int, *, epoch: int = 0, coordinator_epoch: int = 0, version: int = 1
    ) -> str:
        """Append an ABORT marker."""
        return self._end(EndTransaction(False, coordinator_epoch), (producer, epoch), version)  # noqa: FBT003 - a field

    def producers(self) -> str:
        """Print the state of each producer, with its retained batches."""
        states = self.log.producers.producers.values()
        return "\n".join(_described(each) for each in states) or "none"

    def expire(self) -> str:
        """Run the check for idle producers."""
        return f"{self.log.expire_producers()} expired"

    def aborted(self) -> str:
        """Print the transaction indexes."""
        entries = [
            f"segment {base}: producer {each.producer_id}, "
            f"offsets {span(each.first_offset, each.last_offset)}, "
            f"last stable offset {each.last_stable_offset}"
            for base in self.log.base_offsets
            for each in self._harness.aborted(base)
        ]
        return "\n".join(entries) or "empty"

    def fetch(self, offset: int, *, isolation: str = "read_committed") -> str:
        """Print the batches of a fetch, and the aborted transactions that the consumer filters."""
        is_committed = isolation == "read_committed"
        wanted = FetchIsolation.TXN_COMMITTED if is_committed else FetchIsolation.HIGH_WATERMARK
        found = read(self.log, offset, isolation=wanted)
        lines = ["batches " + (" ".join(span(*each) for each in offsets(found)) or "none")]
        lines += [
            f"aborted: producer {each.producer_id} from {each.first_offset}"
            for each in found.aborted or ()
        ]
        return "\n".join(lines)

    def _end(self, marker: EndTransaction, producer: tuple[int, int], version: int) -> str:
        fields = BatchFields(producer_id=producer[0], producer_epoch=producer[1])
        data = control_batch(marker, fields, timestamp=self._harness.clock.now_ms())
        result = self.log.append_as_leader(
            data,
            leader_epoch=0,
            inspector=PlainInspector(),
            context=AppendContext(AppendOrigin.COORDINATOR, is_strict_on_markers=version > 1),
        )
        return f"marker at {result.first_offset}\n{bounds_of(self.log)}"


def _described(state: ProducerStateEntry) -> str:
    batches = [
        f"sequences {span(each.first_sequence, each.last_sequence)}"
        f" at {span(each.first_offset, each.last_offset)}"
        for each in state.batches
    ]
    opened = f", transaction from {state.transaction_first_offset}" if state.has_transaction else ""
    text = f"producer {state.producer_id}: epoch {state.producer_epoch}{opened}"
    return "\n  ".join((text, *(batches or ["no batches"])))

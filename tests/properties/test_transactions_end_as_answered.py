"""A transaction ends as it was answered, after any requests, kills and rejected appends.

The runtime of the model gives answers and markers once their records count. A kill loses records
that do not count yet, with the answers that wait for them. After each step:

- the records of each id are legal transitions, and its epochs never fall;
- a shard that is loaded from the log equals the live one;
- an end that was answered is in the log, and its transaction completes in the same way;
- markers are those of the decision in the log;
- the producers that clients get for an id never repeat an older one.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    StoredRecord,
    decode_record,
    encode_record,
)
from cordwood.coordination.outcome import Outcome, Ticket
from cordwood.coordination.transactions.transaction_log import (
    read_transaction,
    transaction_record,
    transactional_id_of,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import (
    PendingCompleteTxn,
    ProducerIdRequest,
    TransactionOutcome,
)
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
)
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.internal import TRANSACTION_RECORDS
from cordwood.protocol.schema import Response
from tests.unit.coordination.transaction_samples import BILLS, NOW, ORDERS, metadata, topics_of

IDS = ("a", "b")
REJECTION = CoordinatorNotAvailableError("too few replicas")
ids = st.sampled_from(IDS)
#: The epoch of a request, relative to the one that its client has.
epochs = st.sampled_from((0, 0, 0, 0, -1, 1))


class Log:
    """The records of the partition; those below `counted` survive a kill."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self.counted = 0

    def append(self, record: CoordinatorRecord) -> StoredRecord:
        self.records.append(encode_record(record))
        return self.stored(len(self.records) - 1)

    def stored(self, offset: int) -> StoredRecord:
        key, value = self.records[offset]
        record = decode_record(TRANSACTION_RECORDS, key, value=value)
        assert record is not None
        return StoredRecord(record, offset)

    def of(self, transactional_id: str, start: int = 0) -> list[TransactionMetadata | None]:
        """Return the states of an id in the log."""
        records = (self.stored(each).record for each in range(start, len(self.records)))
        return [
            None if each.value is None else read_transaction(each)
            for each in records
            if transactional_id_of(each) == transactional_id
        ]


class Waiting(NamedTuple):
    """An outcome whose records begin at an offset and count at another."""

    outcome: Outcome
    start: int
    end: int


class AnsweredEnd(NamedTuple):
    """An end that a client may rely on: its Prepare record has an offset."""

    transactional_id: str
    offset: int
    is_commit: bool


@dataclass
class Client:
    """The producer of one id, as its client knows it."""

    producer: tuple[int, int] = (-1, -1)
    partitions: set[int] = field(default_factory=set)


class TransactionMachine(RuleBasedStateMachine):
    """A shard with its log, its clients and its runtime."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log()
        self.now_ms = NOW
        self.settings = TransactionSettings()
        self.epoch = 0
        self.next_producer_id = 100
        self.is_rejecting = False
        self.clients = {each: Client() for each in IDS}
        self.calls: dict[Ticket, Callable[[Response | KafkaError, int], None]] = {}
        self.tickets = 0
        self.ends: list[AnsweredEnd] = []
        self.markers: list[PendingCompleteTxn] = []
        self.old_markers: list[PendingCompleteTxn] = []
        self.has_expired = False
        self.load()

    @initialize(level=st.sampled_from((1, 2)), epoch=st.sampled_from((0, 32_764, 32_766)))
    def begin(self, level: int, epoch: int) -> None:
        """Some ids come from an earlier coordinator, with few epochs left."""
        self.settings = TransactionSettings(transaction_version=level)
        for number, each in enumerate(IDS):
            old = metadata(producer=(number, epoch))._replace(transactional_id=each)
            self.log.append(transaction_record(old, version=1))
            self.clients[each].producer = (number, epoch)
        self.count()
        self.load()

    # -- the runtime

    def load(self) -> None:
        self.epoch += 1
        self.waiting = deque[Waiting]()
        self.old_markers = self.old_markers[-3:] + self.markers[-3:]
        self.markers = []
        self.id_requests: list[ProducerIdRequest] = []
        self.timers: dict[tuple[str, ...], int] = {}
        self.calls.clear()
        self.shard = self.loaded()
        self.perform(self.shard.finish_load(self.now_ms))

    def loaded(self) -> TransactionShard:
        shard = TransactionShard(self.settings, coordinator_epoch=self.epoch)
        for offset in range(len(self.log.records)):
            shard.replay(self.log.stored(offset))
        return shard

    def perform(self, outcome: Outcome) -> None:
        if outcome.records and self.is_rejecting:
            assert outcome.on_failure is not None
            follow = outcome.on_failure(REJECTION, self.now_ms)
            given = {each.ticket for each in follow.answers}
            for answer in outcome.answers:
                if answer.ticket not in given:
                    self.calls.pop(answer.ticket)(REJECTION, -1)
            self.perform(follow)
            return
        start = len(self.log.records)
        for record in outcome.records:
            self.shard.replay(self.log.append(record))
        for timer in outcome.timers:
            assert timer.at_ms is not None
            self.timers[timer.key] = timer.at_ms
        self.waiting.append(Waiting(outcome, start, len(self.log.records)))
        self.release()

    def release(self) -> None:
        """Give what waits for records that count by now."""
        while self.waiting and self.waiting[0].end <= self.log.counted:
            outcome, start, end = self.waiting.popleft()
            for answer in outcome.answers:
                self.calls.pop(answer.ticket)(answer.response, start if end > start else -1)
            assert isinstance(outcome, TransactionOutcome)
            self.markers += outcome.completions
            self.id_requests += outcome.producer_id_requests

    def ticket(self, call: Callable[[Response | KafkaError, int], None]) -> Ticket:
        self.tickets += 1
        self.calls[Ticket(self.tickets)] = call
        return Ticket(self.tickets)

    @rule()
    def count(self) -> None:
        """All records are replicated."""
        self.log.counted = len(self.log.records)
        self.release()

    @rule(survives=st.booleans())
    def kill(self, *, survives: bool) -> None:
        """The coordinator ends; records that do not count may survive."""
        if not survives:
            del self.log.records[self.log.counted :]
        self.log.counted = len(self.log.records)
        self.is_rejecting = False
        self.load()

    @rule()
    def reject(self) -> None:
        self.is_rejecting = not self.is_rejecting

    @precondition(lambda self: self.id_requests)
    @rule(fails=st.booleans(), data=st.data())
    def allocate(self, data: st.DataObject, *, fails: bool) -> None:
        """Answer one request for a producer id, in any order."""
        request = self.id_requests.pop(data.draw(st.integers(0, len(self.id_requests) - 1)))
        if fails:
            self.perform(request.failed(CoordinatorLoadInProgressError("no ids"), self.now_ms))
            return
        self.next_producer_id += 1
        self.perform(request.allocated(self.next_producer_id, self.now_ms))

    @precondition(lambda self: self.markers)
    @rule(data=st.data(), repeated=st.booleans())
    def complete(self, data: st.DataObject, *, repeated: bool) -> None:
        """The markers of a transaction are written; the event may come twice."""
        at = data.draw(st.integers(0, len(self.markers) - 1))
        found = self.markers.pop(at)
        for _ in range(1 + repeated):
            self.perform(self.shard.complete_markers(*found, now_ms=self.now_ms))

    @precondition(lambda self: self.old_markers)
    @rule(data=st.data())
    def complete_late(self, data: st.DataObject) -> None:
        """The markers of an earlier coordinator are written; that changes nothing."""
        old = data.draw(st.sampled_from(self.old_markers))
        assert self.shard.complete_markers(*old, now_ms=self.now_ms) == TransactionOutcome()

    @rule(time_ms=st.sampled_from((50, 10_000, 10_000, 70_000, 3_600_000)))
    def advance(self, time_ms: int) -> None:
        self.now_ms += time_ms
        for key, at_ms in sorted(self.timers.items()):
            if at_ms <= self.now_ms:
                del self.timers[key]
                self.perform(self.shard.on_timer(key, self.now_ms))

    @precondition(lambda self: not self.has_expired)
    @rule()
    def expire(self) -> None:
        """Idle ids expire, once in a run."""
        self.has_expired = True
        self.advance(700_000_000)

    # -- clients

    @rule(each=ids, version=st.sampled_from((3, 5)), commit=st.booleans(), counts=st.booleans())
    def transact(self, each: str, version: int, *, commit: bool, counts: bool) -> None:
        """Send the requests of a whole transaction one after the other."""
        self.add(each, version, 0, verify=False)
        self.end(each, min(version + 1, 5), 0, commit=commit)
        if counts:
            self.count()

    @rule(each=ids, continues=st.booleans(), offset=epochs)
    def init(self, each: str, *, continues: bool, offset: int) -> None:
        client = self.clients[each]
        producer = client.producer if continues else (-1, -1)
        if continues and client.producer[1] + offset >= 0:
            producer = producer[0], producer[1] + offset
        request = InitProducerIdRequest(
            transactional_id=each,
            transaction_timeout_ms=60_000,
            producer_id=producer[0],
            producer_epoch=producer[1],
        )

        def answered(response: Response | KafkaError, _: int) -> None:
            if isinstance(response, InitProducerIdResponse):
                self.use(each, (response.producer_id, response.producer_epoch))

        self.perform(
            self.shard.init_producer_id(
                request, ClientContext(5), ticket=self.ticket(answered), now_ms=self.now_ms
            )
        )

    @rule(each=ids, version=st.sampled_from((3, 5)), offset=epochs, verify=st.booleans())
    def add(self, each: str, version: int, offset: int, *, verify: bool) -> None:
        producer_id, epoch = self.clients[each].producer
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=each,
            producer_id=producer_id,
            producer_epoch=epoch + offset,
            verify_only=verify and version > 3,
            topics=topics_of([ORDERS] if offset else [ORDERS, BILLS]),
        )
        request = request_of(transaction, version)
        self.perform(
            self.shard.add_partitions(
                request,
                ClientContext(version),
                ticket=self.ticket(lambda _, __: None),
                now_ms=self.now_ms,
            )
        )

    @rule(each=ids, version=st.sampled_from((4, 5)), offset=epochs, commit=st.booleans())
    def end(self, each: str, version: int, offset: int, *, commit: bool) -> None:
        producer_id, epoch = self.clients[each].producer
        request = EndTxnRequest(
            transactional_id=each,
            producer_id=producer_id,
            producer_epoch=epoch + offset,
            committed=commit,
        )

        def answered(response: Response | KafkaError, at: int) -> None:
            if not isinstance(response, EndTxnResponse):
                return
            if at >= 0:
                self.ends.append(AnsweredEnd(each, at, commit))
            if response.producer_id >= 0:
                self.use(each, (response.producer_id, response.producer_epoch))

        self.perform(
            self.shard.end_transaction(
                request, ClientContext(version), ticket=self.ticket(answered), now_ms=self.now_ms
            )
        )

    def use(self, each: str, producer: tuple[int, int]) -> None:
        """A client continues with a producer, which no earlier answer of its id is ahead of."""
        assert producer >= self.clients[each].producer
        self.clients[each].producer = producer

    # -- what always holds

    @invariant()
    def records_are_legal_transitions(self) -> None:
        for each in IDS:
            previous: TransactionMetadata | None = None
            for state in self.log.of(each):
                if previous is not None and state is not None:
                    assert state.state.may_follow(previous.state)
                    ensure_epochs_rise(previous, state)
                elif state is not None:
                    assert state.state is TransactionState.EMPTY
                else:
                    assert previous is not None
                    assert previous.state.is_idle
                previous = state

    @invariant()
    def no_transition_stays_pending(self) -> None:
        assert not any(self.shard.transactions.is_changing(each) for each in IDS)

    @invariant()
    def loaded_shard_equals_the_live_one(self) -> None:
        loaded = {each.transactional_id: each for each in self.loaded().transactions}
        live = {each.transactional_id: each for each in self.shard.transactions}
        assert loaded.keys() == live.keys()
        for name, state in live.items():
            epoch = loaded[name].producer_epoch
            if not state.has_failed_epoch_fence:
                assert state.producer_epoch == epoch
            assert loaded[name] == state._replace(
                producer_epoch=epoch, last_producer_epoch=-1, has_failed_epoch_fence=False
            )

    @invariant()
    def answered_ends_are_kept(self) -> None:
        for transactional_id, offset, is_commit in self.ends:
            prepared, *later = self.log.of(transactional_id, offset)
            assert prepared is not None
            assert prepared.state.is_prepared
            assert (prepared.state is TransactionState.PREPARE_COMMIT) is is_commit
            complete = (
                TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
            )
            assert not later or (later[0] is not None and later[0].state is complete)

    @invariant()
    def markers_are_those_of_decisions_that_count(self) -> None:
        for transactional_id, marker in self.markers:
            assert marker.coordinator_epoch == self.epoch
            decided = [
                each
                for each in self.log.of(transactional_id)
                if each is not None
                and each.state.is_prepared
                and (each.producer_id, each.producer_epoch)
                == (marker.producer_id, marker.producer_epoch)
            ]
            assert any(
                (each.state is TransactionState.PREPARE_COMMIT) is marker.is_commit
                and each.partitions == marker.partitions
                for each in decided
            )

    def teardown(self) -> None:
        """In the end every decided transaction completes."""
        self.is_rejecting = False
        self.kill(survives=True)
        for found in [*self.markers]:
            self.perform(self.shard.complete_markers(*found, now_ms=self.now_ms))
        assert not any(each.state.is_prepared for each in self.shard.transactions)
        self.answered_ends_are_kept()


def request_of(
    transaction: AddPartitionsToTxnTransaction, version: int
) -> AddPartitionsToTxnRequest:
    """Return a request in the form of its version."""
    if version > 3:
        return AddPartitionsToTxnRequest(transactions=[transaction])
    return AddPartitionsToTxnRequest(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=transaction.topics,
    )


def ensure_epochs_rise(previous: TransactionMetadata, state: TransactionMetadata) -> None:
    """Check that the epoch never falls, but with a new producer id, and rises in version 2."""
    if state.state.is_prepared and state.client_version > 1:
        assert state.producer_epoch == previous.producer_epoch + 1
    if state.producer_id == previous.producer_id:
        assert state.producer_epoch >= previous.producer_epoch
    else:
        assert state.producer_id > previous.producer_id
        assert state.producer_epoch == 0
        assert previous.producer_epoch >= 32_766


TransactionMachine.TestCase.settings = settings(stateful_step_count=60)
TestTransactions = TransactionMachine.TestCase

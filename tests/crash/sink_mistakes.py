"""Mistakes of the exactly-once sink, planted one at a time to prove that the simulation finds them.

Each leaves out a step or a check of the protocol, and names the invariants of which one finds it.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast

import pytest

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.spark.sink.exactly_once import (
    batch_abort,
    batch_commit,
    batch_preparation,
    open_transactions,
    record_access,
    task_write,
    transactional_ids,
)
from cordwood.spark.sink.exactly_once.batch_preparation import Resolution, SinkPlan
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord, split_record
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from cordwood.spark.sink.exactly_once.sink_requests import (
    End,
    Ended,
    EndResult,
    Steps,
    WriteRecord,
    ask,
)
from cordwood.spark.sink.exactly_once.task_duty import TaskDuty
from cordwood.spark.sink.exactly_once.transactional_ids import TaskPlace, TransactionalIds
from tests.crash.sink_brokers import SimulatedBrokers, TryAgainError
from tests.crash.sink_simulation import (
    DECIDED,
    DRAINED,
    KEPT,
    NO_ORPHAN,
    ONCE,
    ONE_DECISION,
    PROGRESS,
)

Plant = Callable[[pytest.MonkeyPatch], None]
Ends: TypeAlias = Mapping[TransactionHandle, Ended]
R = TypeVar("R")


class Mistake(NamedTuple):
    """A mistake and the invariants that it violates."""

    plant: Plant
    invariants: frozenset[str]


def _replaced(owner: object, name: str, made: object) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(owner, name, made)

    return plant


def _steps(answer: R) -> Callable[..., Steps[R]]:
    """Return steps that do nothing."""

    def steps(*_: object, **__: object) -> Steps[R]:
        yield from ()
        return answer

    return steps


def _ends_first(patch: pytest.MonkeyPatch) -> None:
    decide = record_access.write_record

    def early(
        names: SinkNames, driver: TransactionHandle, *, record: IntentRecord
    ) -> Steps[TransactionHandle]:
        yield from ask(End(tuple(record.handles(names)), commit=True))
        return (yield from decide(names, driver, record=record))

    patch.setattr(batch_commit, "write_record", early)


def _number_of_attempt(
    _ids: TransactionalIds, _sink: str, _incarnation: object, *, batch: int, place: TaskPlace
) -> int:
    return (batch % 2) * 100 + place.slot * 10 + place.attempt


def _driver_not_fenced(patch: pytest.MonkeyPatch) -> None:
    fence = SimulatedBrokers.fence

    def kept(brokers: SimulatedBrokers, name: str, timeout_ms: int) -> TransactionHandle:
        each = brokers.ids.get(name)
        if each is None or not name.endswith("-driver"):
            return fence(brokers, name, timeout_ms)
        return TransactionHandle(name, each.producer_id, each.epoch, brokers.version)

    patch.setattr(SimulatedBrokers, "fence", kept)


def _unstable_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimulatedBrokers, "read_record", lambda brokers: dict(brokers.record))


def _record_unfenced(patch: pytest.MonkeyPatch) -> None:
    """The record is a plain offset commit."""

    def write(brokers: SimulatedBrokers, request: WriteRecord) -> None:
        if brokers.staged is not None:
            raise TryAgainError
        brokers.staged = dict(enumerate(request.parts))
        brokers._on_record()  # noqa: SLF001  the model's own
        brokers.record, brokers.staged = brokers.staged, None

    def decide(
        names: SinkNames, driver: TransactionHandle, *, record: IntentRecord
    ) -> Steps[TransactionHandle]:
        parts = tuple(split_record(record, partitions=1))
        yield from ask(WriteRecord(driver, "s", record.batch, parts))
        return driver

    patch.setattr(SimulatedBrokers, "write_record", write)
    patch.setattr(batch_commit, "write_record", decide)
    patch.setattr(batch_preparation, "write_record", decide)


def _drops_one_batch(
    batches: Iterable[list[int]], digest_of: Callable[[list[int]], tuple[int, int]]
) -> task_write.RowTotals:
    totals = task_write.RowTotals()
    for each in batches:
        totals.add(*digest_of(each))
        break
    return totals


def _lost_taken_as_committed(
    plan: SinkPlan, driver: TransactionHandle, *, record: IntentRecord
) -> Steps[Resolution]:
    yield from ask(End(tuple(record.handles(plan.names)), commit=True))
    return Resolution(driver, record)


def _not_resolved(
    _plan: SinkPlan, driver: TransactionHandle, *, record: IntentRecord
) -> Steps[Resolution]:
    yield from ()
    return Resolution(driver, record)


def _forgotten_taken_as(result: EndResult) -> Plant:
    """Let a transaction whose id has expired count as one with another answer."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        resolve = batch_preparation.resolve_record

        def resolved(
            plan: SinkPlan, driver: TransactionHandle, *, record: IntentRecord
        ) -> Steps[Resolution]:
            steps = resolve(plan, driver, record=record)
            try:
                request = next(steps)
                while True:
                    answer = yield request
                    if isinstance(request, End):
                        answer = _without_unknown(cast("Ends", answer), result)
                    request = steps.send(answer)
            except StopIteration as end:
                return cast("Resolution", end.value)

        patch.setattr(batch_preparation, "resolve_record", resolved)

    return plant


def _without_unknown(answers: Ends, result: EndResult) -> Ends:
    return {
        handle: each._replace(result=result) if each.result is EndResult.UNKNOWN_ID else each
        for handle, each in answers.items()
    }


def _winners_aborted(patch: pytest.MonkeyPatch) -> None:
    search = open_transactions.abort_orphans

    def all_of(names: SinkNames, driver: TransactionHandle, **_: object) -> Steps[int]:
        return search(names, driver)

    patch.setattr(batch_commit, "abort_orphans", all_of)


MISTAKES: Final[Mapping[str, Mistake]] = MappingProxyType(
    {
        "orphans are not swept at the start": Mistake(
            _replaced(batch_preparation, "abort_orphans", _steps(0)),
            frozenset({NO_ORPHAN}),
        ),
        "ids are used again in the next batch": Mistake(
            _replaced(transactional_ids, "is_free", lambda last, batch: last < batch),
            frozenset({ONCE, ONE_DECISION, PROGRESS}),
        ),
        "transactions end before the decision": Mistake(_ends_first, frozenset({DECIDED})),
        "an abort does not look at the record": Mistake(
            _replaced(batch_abort, "read_record", _steps(None)), frozenset({KEPT})
        ),
        "ids are named by slot and attempt": Mistake(
            _replaced(TransactionalIds, "take", _number_of_attempt), frozenset({KEPT})
        ),
        "a skipping task does not drain": Mistake(
            _replaced(task_write, "drain", _drops_one_batch), frozenset({DRAINED})
        ),
        "the driver does not fence": Mistake(
            _driver_not_fenced, frozenset({ONE_DECISION, ONCE, PROGRESS})
        ),
        "a fenced driver sweeps": Mistake(
            _replaced(open_transactions, "ensure_unfenced", _steps(None)), frozenset({KEPT})
        ),
        "the record is read while it is unstable": Mistake(
            _unstable_read, frozenset({KEPT, ONCE, ONE_DECISION})
        ),
        "lost transactions count as committed": Mistake(
            _replaced(batch_preparation, "resolve_record", _lost_taken_as_committed),
            frozenset({ONCE}),
        ),
        "a replay writes visible slots again": Mistake(
            _replaced(IntentRecord, "visible", lambda _: {}), frozenset({ONCE})
        ),
        "the record is written outside of the transaction": Mistake(
            _record_unfenced, frozenset({ONE_DECISION, ONCE, PROGRESS})
        ),
        "a decided batch is written again": Mistake(
            _replaced(task_write, "duty_of", lambda *_, **__: TaskDuty.WRITE),
            frozenset({ONCE, ONE_DECISION}),
        ),
        "a commit does not finish the decision at the start": Mistake(
            _replaced(
                batch_preparation,
                "resolve_record",
                lambda plan, driver, record: _steps(Resolution(driver, record))(),
            ),
            frozenset({ONCE}),
        ),
        "a forgotten transaction counts as lost": Mistake(
            _forgotten_taken_as(EndResult.INVALID_STATE), frozenset({ONCE})
        ),
        "a forgotten transaction counts as committed": Mistake(
            _forgotten_taken_as(EndResult.ENDED), frozenset({ONCE})
        ),
        "losers are aborted with the winners": Mistake(_winners_aborted, frozenset({PROGRESS})),
    }
)

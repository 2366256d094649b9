"""Abort of a batch that Spark has given up: a task or the commit has failed, or the query stops.

Spark calls it after a failed commit too. If the batch is decided, its transactions stay: the next
preparation commits them. An intent whose end has no answer may be decided later than this look at
the record, so the driver's transaction is aborted first.
"""

from collections.abc import Sequence

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.spark.sink.exactly_once.batch_preparation import PreparedBatch
from cordwood.spark.sink.exactly_once.open_transactions import abort_orphans
from cordwood.spark.sink.exactly_once.record_access import read_record
from cordwood.spark.sink.exactly_once.sink_requests import End, Steps, ask
from cordwood.spark.sink.exactly_once.task_outcome import TaskOutcome


def abort_batch(
    prepared: PreparedBatch, *, batch: int, outcomes: Sequence[TaskOutcome]
) -> Steps[bool]:
    """Abort the transactions of a batch; return False if it is decided, so that they stay."""
    driver = prepared.driver
    if prepared.plan.has_record:
        driver = yield from close_intent(driver)
        record = yield from read_record(prepared.plan.names)
        if record is not None and record.done >= batch:
            return False
    handles = tuple(each.handle for each in outcomes if each.handle is not None)
    if handles:
        yield from ask(End(handles, commit=False))
    yield from abort_orphans(prepared.plan.names, driver)
    return True


def close_intent(driver: TransactionHandle) -> Steps[TransactionHandle]:
    """Abort an intent that is still open; return the driver's next identity."""
    answers = yield from ask(End((driver,), commit=False))
    return answers[driver].next

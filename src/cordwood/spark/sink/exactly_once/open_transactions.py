"""Abort of orphaned transactions, which would hide later rows from `read_committed` readers.

A driver that is fenced without having noticed must not abort the transactions of its successor. So
the open transactions are described first, then the driver checks that its identity still counts,
and only then are exactly the described transactions aborted, by producer id and epoch. A successor
fences before its tasks begin, so none of its transactions can be among them.
"""

from collections.abc import Collection

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.spark.sink.exactly_once.record_access import fenced
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from cordwood.spark.sink.exactly_once.sink_requests import Describe, End, ListOpen, Steps, ask


def abort_orphans(
    names: SinkNames,
    driver: TransactionHandle,
    *,
    keep: Collection[str] = (),
) -> Steps[int]:
    """Abort the sink's open transactions but `keep`; return their number.

    Spark may prepare batches in several processes in turn, so orphans of every incarnation count.
    Brokers before Kafka 3.0 cannot list transactions: there orphans end by their timeout.
    """
    listed = yield from ask(ListOpen())
    found = [
        each for each in listed or () if names.parse_task(each) is not None and each not in keep
    ]
    if not found:
        return 0
    states = (yield from ask(Describe(tuple(found)))) or {}
    orphans = tuple(
        TransactionHandle(name, state.producer_id, state.epoch, driver.transaction_version)
        for name, state in states.items()
        if state.is_open
    )
    yield from ensure_unfenced(names, driver)
    if orphans:
        yield from ask(End(orphans, commit=False))
    return len(orphans)


def ensure_unfenced(names: SinkNames, driver: TransactionHandle) -> Steps[None]:
    """Raise SparkError if another driver has fenced this one."""
    states = yield from ask(Describe((names.driver,)))
    if states is None:
        return
    state = states.get(names.driver)
    if state is None or (state.producer_id, state.epoch) != (driver.producer_id, driver.epoch):
        raise fenced(names, "transactions are not aborted")

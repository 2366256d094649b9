"""Conditional updates of stored leaderships (Kafka: `updateLeaderAndIsr`, and its retries).

    decide ──► write, if the partition epochs match ──► written
       ▲                       └──► conflict ──► read again ─┐
       └─────────────────────────────────────────────────────┘

The first decision is about the leaderships in memory. All changes go through the controller, so
they are those in the store, apart from the changes of brokers with an earlier protocol. Kafka reads
the stored ones before each decision. A decision that changes nothing meets no conflict: a failed
election reads again first (`changed_leaderships`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.effects import (
    FailedChange,
    Flow,
    LeadershipWrites,
    ReadLeaderships,
    ReportFailures,
    WriteLeaderships,
    perform,
)
from cordwood.core.errors import KafkaError, StaleControllerEpochError
from cordwood.core.types import TopicPartition

Leaderships: TypeAlias = Mapping[TopicPartition, Leadership]

Decision: TypeAlias = Callable[[Sequence[TopicPartition]], Flow[Leaderships]]
"""Decides on the leaderships of partitions in the context; those without a change are left out."""


def update_leaderships(
    context: ClusterContext, partitions: Sequence[TopicPartition], *, decide: Decision
) -> Flow[Leaderships]:
    """Decide on leaderships and store them; return those that were stored."""
    unread = [each for each in partitions if each not in context.leaderships]
    if unread:
        yield from refresh_leaderships(context, unread)
    stored: dict[TopicPartition, Leadership] = {}
    remaining = partitions
    while remaining:
        decided = yield from decide(remaining)
        if not decided:
            break
        writes = yield from write_leaderships(context, decided)
        stored.update(writes.written)
        yield from report_failures(writes.failed, to="stored")
        remaining = writes.conflicts
        if remaining:
            yield from refresh_leaderships(context, remaining)
    return stored


def write_leaderships(context: ClusterContext, leaderships: Leaderships) -> Flow[LeadershipWrites]:
    """Write leaderships of this controller, and keep the written ones."""
    epoch = context.epoch
    stamped = {key: each._replace(controller_epoch=epoch) for key, each in leaderships.items()}
    writes = yield from perform(WriteLeaderships(stamped))
    context.leaderships.update(writes.written)
    return writes


def refresh_leaderships(
    context: ClusterContext, partitions: Sequence[TopicPartition]
) -> Flow[None]:
    """Read the leaderships of partitions; StaleControllerEpochError if a later controller wrote."""
    found = yield from perform(ReadLeaderships(partitions))
    for partition, leadership in found.items():
        if leadership.controller_epoch > context.epoch:
            raise StaleControllerEpochError(
                f"{partition}: written by the controller of epoch {leadership.controller_epoch},"
                f" after epoch {context.epoch}"
            )
    for partition in partitions:
        if partition not in found:
            context.leaderships.pop(partition, None)
    context.leaderships.update(found)


def changed_leaderships(
    context: ClusterContext, partitions: Sequence[TopicPartition]
) -> Flow[list[TopicPartition]]:
    """Read leaderships again; return the partitions whose stored one was not in memory."""
    known = [each for each in partitions if each in context.leaderships]
    before = {each: context.leaderships[each] for each in known}
    if known:
        yield from refresh_leaderships(context, known)
    return [each for each in known if context.leaderships.get(each) != before[each]]


def report_failures(failed: Mapping[TopicPartition, KafkaError], *, to: str) -> Flow[None]:
    """Report the partitions whose leadership could not be stored."""
    if failed:
        changes = [FailedChange(each, None, to, str(error)) for each, error in failed.items()]
        yield from perform(ReportFailures(changes))


def report_unelected(partitions: Iterable[TopicPartition], *, to: str, reason: str) -> Flow[None]:
    """Report the partitions whose change of state failed for this reason."""
    changes = [FailedChange(each, None, to, reason) for each in partitions]
    if changes:
        yield from perform(ReportFailures(changes))

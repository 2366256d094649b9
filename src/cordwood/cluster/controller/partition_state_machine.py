"""State machine of partitions (Kafka: `ZkPartitionStateMachine`).

    target         from                    action
    new            non-existent            none
    online         new                     the online replicas are in sync, the first one leads
    online         online, offline         an election by the given strategy
    offline        new, online, offline    none
    non-existent   offline                 none

A partition without an eligible leader keeps its state. Leaderships are stored before any broker
gets them. Other changes are reported, and not made.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from cordwood.cluster.controller.broker_request_batch import BrokerRequestBatch
from cordwood.cluster.controller.context.cluster_context import ClusterContext, PartitionLifecycle
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.effects import (
    CreateLeaderships,
    FailedChange,
    Flow,
    ReadUncleanElections,
    ReportFailures,
    perform,
)
from cordwood.cluster.controller.leader_election import (
    ElectionStrategy,
    elect,
    needs_unclean_leader,
)
from cordwood.cluster.controller.leadership_updates import (
    Leaderships,
    changed_leaderships,
    refresh_leaderships,
    report_failures,
    report_unelected,
    update_leaderships,
)
from cordwood.core.types import TopicPartition

NEW: Final = PartitionLifecycle.NEW
ONLINE: Final = PartitionLifecycle.ONLINE
OFFLINE: Final = PartitionLifecycle.OFFLINE
NON_EXISTENT: Final = PartitionLifecycle.NON_EXISTENT

#: The states that a partition may leave for each state.
VALID_PREVIOUS: Final[Mapping[PartitionLifecycle, frozenset[PartitionLifecycle]]] = (
    MappingProxyType(
        {
            NEW: frozenset({NON_EXISTENT}),
            ONLINE: frozenset({NEW, ONLINE, OFFLINE}),
            OFFLINE: frozenset({NEW, ONLINE, OFFLINE}),
            NON_EXISTENT: frozenset({OFFLINE}),
        }
    )
)


def change_partition_states(
    context: ClusterContext,
    partitions: Sequence[TopicPartition],
    *,
    to: PartitionLifecycle,
    strategy: ElectionStrategy = ElectionStrategy.OFFLINE,
) -> Flow[Leaderships]:
    """Change the states of partitions; return the leaderships of those that went online."""
    valid = yield from _valid_changes(context, partitions, to)
    if to is ONLINE:
        return (yield from _go_online(context, valid, strategy))
    for each in valid:
        if to is NON_EXISTENT:
            context.partition_states.pop(each, None)
        else:
            context.partition_states[each] = to
    return {}


def elect_missing_leaders(context: ClusterContext, topic: str | None = None) -> Flow[Leaderships]:
    """Elect leaders for all new and offline partitions, of one topic if given."""
    waiting = [
        each
        for each in context.partitions_in(NEW, OFFLINE)
        if not context.is_deletion_queued(each) and topic in {None, each.topic}
    ]
    return (yield from change_partition_states(context, waiting, to=ONLINE))


def start_partition_states(context: ClusterContext) -> Flow[None]:
    """Derive the states of all partitions from their leaderships, and elect missing leaders."""
    for partition in context.assignments:
        leadership = context.leaderships.get(partition)
        if leadership is None:
            state = NEW
        else:
            is_online = context.is_online(leadership.leader, partition)
            state = ONLINE if is_online else OFFLINE
        context.partition_states[partition] = state
    yield from elect_missing_leaders(context)


def _valid_changes(
    context: ClusterContext, partitions: Sequence[TopicPartition], to: PartitionLifecycle
) -> Flow[list[TopicPartition]]:
    previous = VALID_PREVIOUS[to]
    valid, failures = [], []
    for each in partitions:
        state = context.partition_state(each)
        if state in previous:
            valid.append(each)
        else:
            failures.append(FailedChange(each, None, to.value, f"it is {state.value}"))
    if failures:
        yield from perform(ReportFailures(failures))
    return valid


def _go_online(
    context: ClusterContext, partitions: Sequence[TopicPartition], strategy: ElectionStrategy
) -> Flow[Leaderships]:
    batch = BrokerRequestBatch(context)
    new = [each for each in partitions if context.partition_state(each) is NEW]
    known = [each for each in partitions if context.partition_state(each) is not NEW]
    led: dict[TopicPartition, Leadership] = {}
    if new:
        created, existing = yield from _create_leaderships(context, batch, new)
        led.update(created)
        if existing:
            led.update((yield from _elect(context, batch, existing, ElectionStrategy.OFFLINE)))
    if known:
        led.update((yield from _elect(context, batch, known, strategy)))
    for each in led:
        context.partition_states[each] = ONLINE
    yield from batch.send()
    return led


def _create_leaderships(
    context: ClusterContext, batch: BrokerRequestBatch, partitions: Sequence[TopicPartition]
) -> Flow[tuple[Leaderships, Sequence[TopicPartition]]]:
    """Store first leaderships; return those, and the partitions that had a stored one.

    A partition has one if the result of an earlier write was lost.
    """
    first: dict[TopicPartition, Leadership] = {}
    for each in partitions:
        replicas = context.assignment(each).replicas
        online = tuple(at for at in replicas if context.is_online(at, each))
        if online:
            first[each] = Leadership.first(online, controller_epoch=context.epoch)
    waiting = [each for each in partitions if each not in first]
    yield from report_unelected(waiting, to=ONLINE.value, reason="no replica is online")
    if not first:
        return {}, ()
    writes = yield from perform(CreateLeaderships(first))
    context.leaderships.update(writes.written)
    yield from report_failures(writes.failed, to=ONLINE.value)
    for each, leadership in writes.written.items():
        batch.add_leader_and_isr(each, brokers=leadership.isr, is_new=True)
    if writes.conflicts:
        yield from refresh_leaderships(context, writes.conflicts)
        for each in writes.conflicts:
            context.partition_states[each] = OFFLINE
    return writes.written, writes.conflicts


def _elect(
    context: ClusterContext,
    batch: BrokerRequestBatch,
    partitions: Sequence[TopicPartition],
    strategy: ElectionStrategy,
) -> Flow[Leaderships]:
    recipients: dict[TopicPartition, Sequence[int]] = {}

    def decide(remaining: Sequence[TopicPartition]) -> Flow[Leaderships]:
        unclean = yield from _unclean_topics(context, remaining, strategy)
        decided: dict[TopicPartition, Leadership] = {}
        for each in remaining:
            leadership = context.leaderships.get(each)
            if leadership is None:
                continue
            election = elect(
                context,
                each,
                strategy=strategy,
                leadership=leadership,
                is_unclean_allowed=unclean.get(each.topic, False),
            )
            if election.leadership is not None:
                decided[each] = election.leadership
                recipients[each] = election.recipients
        return decided

    elected = {**(yield from update_leaderships(context, partitions, decide=decide))}
    missed = [each for each in partitions if each not in elected]
    changed = yield from changed_leaderships(context, missed)
    if changed:
        elected.update((yield from update_leaderships(context, changed, decide=decide)))
    for each in elected:
        batch.add_leader_and_isr(each, brokers=recipients[each], is_new=False)
    yield from report_unelected(
        (each for each in partitions if each not in elected),
        to=ONLINE.value,
        reason=f"no replica is eligible ({strategy.value} election)",
    )
    return elected


def _unclean_topics(
    context: ClusterContext, partitions: Sequence[TopicPartition], strategy: ElectionStrategy
) -> Flow[Mapping[str, bool]]:
    """Read whether the topics of partitions allow unclean leaders, if an election needs one."""
    if strategy is not ElectionStrategy.OFFLINE:
        return {}
    topics = {
        each.topic
        for each in partitions
        if each in context.leaderships
        and needs_unclean_leader(context, each, isr=context.leaderships[each].isr)
    }
    return (yield from perform(ReadUncleanElections(sorted(topics)))) if topics else {}

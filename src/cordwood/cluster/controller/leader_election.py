"""Choice of a leader (Kafka: `Election`, `PartitionLeaderElectionAlgorithms`).

    strategy             candidates, in this order         in-sync set             recipients
    offline              replicas, online and in sync;     those online; of an     online replicas
                         else, if unclean elections are    unclean leader, itself
                         allowed, the first one online
    preferred            the first replica, if it is       unchanged               all replicas
                         online and in sync
    reassignment         replicas, online and in sync      unchanged               all replicas
    controlled shutdown  replicas, served and in sync,     without brokers that    served replicas
                         on no broker that shuts down      shut down

A replica is served if its broker is registered, also while it shuts down. Recipients get a
LeaderAndIsr request. An unclean leader is recovering until it reports otherwise. A replica that a
reassignment adds leads uncleanly only if no other one can: it may be empty. Kafka takes the first.
A reassignment elects before it deletes replicas; its assignment lacks them already.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.core.types import TopicPartition


class ElectionStrategy(Enum):
    """The strategies; UNCLEAN is OFFLINE by an administrator who allows unclean elections."""

    OFFLINE = "offline"
    UNCLEAN = "unclean"
    PREFERRED = "preferred"
    REASSIGNMENT = "reassignment"
    CONTROLLED_SHUTDOWN = "controlled shutdown"


class Election(NamedTuple):
    """The next leadership, None if no replica can lead."""

    leadership: Leadership | None
    recipients: Sequence[int]


def needs_unclean_leader(
    context: ClusterContext, partition: TopicPartition, *, isr: Iterable[int]
) -> bool:
    """Return whether no in-sync replica is online."""
    return not any(context.is_online(each, partition) for each in isr)


def elect(
    context: ClusterContext,
    partition: TopicPartition,
    *,
    strategy: ElectionStrategy,
    leadership: Leadership,
    is_unclean_allowed: bool = False,
) -> Election:
    """Return the result of an election."""
    replicas = context.assignment(partition).replicas
    if strategy is ElectionStrategy.PREFERRED:
        return _elect_in_sync(context, partition, leadership, replicas[:1])._replace(
            recipients=replicas
        )
    if strategy is ElectionStrategy.REASSIGNMENT:
        return _elect_in_sync(context, partition, leadership, replicas)
    if strategy is ElectionStrategy.CONTROLLED_SHUTDOWN:
        return _elect_elsewhere(context, partition, leadership)
    allowed = is_unclean_allowed or strategy is ElectionStrategy.UNCLEAN
    return _elect_online(context, partition, leadership, is_unclean_allowed=allowed)


def can_lead(context: ClusterContext, partition: TopicPartition, *, broker_id: int) -> bool:
    """Return whether a replica is online and in sync."""
    leadership = context.leaderships.get(partition)
    return (
        leadership is not None
        and broker_id in leadership.isr
        and context.is_online(broker_id, partition)
    )


def _elect_in_sync(
    context: ClusterContext,
    partition: TopicPartition,
    leadership: Leadership,
    candidates: Sequence[int],
) -> Election:
    for each in candidates:
        if each in leadership.isr and context.is_online(each, partition):
            return Election(leadership.next_epoch(leader=each, isr=leadership.isr), candidates)
    return Election(None, candidates)


def _elect_elsewhere(
    context: ClusterContext, partition: TopicPartition, leadership: Leadership
) -> Election:
    replicas = context.assignment(partition).replicas
    served = [each for each in replicas if context.is_served(each, partition)]
    isr = tuple(each for each in leadership.isr if not context.is_shutting_down(each))
    for each in served:
        if each in isr:
            return Election(leadership.next_epoch(leader=each, isr=isr), served)
    return Election(None, served)


def _elect_online(
    context: ClusterContext,
    partition: TopicPartition,
    leadership: Leadership,
    *,
    is_unclean_allowed: bool,
) -> Election:
    replicas = context.assignment(partition).replicas
    online = [each for each in replicas if context.is_online(each, partition)]
    for each in online:
        if each in leadership.isr:
            isr = tuple(at for at in leadership.isr if context.is_online(at, partition))
            return Election(leadership.next_epoch(leader=each, isr=isr), online)
    if not is_unclean_allowed or not online:
        return Election(None, online)
    adding = context.assignment(partition).adding
    leader = next((each for each in online if each not in adding), online[0])
    return Election(leadership.next_epoch(leader=leader, isr=(leader,), is_recovering=True), online)

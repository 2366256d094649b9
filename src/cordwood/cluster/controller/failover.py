"""Start of a new controller (Kafka: `KafkaController.onControllerFailover`).

    notifications dropped ──► brokers, topics, assignments, leaderships, deletions read
      ──► live brokers to all ──► replicas ──► partitions ──► reassignments ──► deletions
      ──► preferred elections

Brokers need the addresses of the others before the first LeaderAndIsr request. The first request
for a replica gives its broker the leadership that is stored, so decisions of the former controller
that it could not send arrive now.
"""

from cordwood.cluster.controller.broker_request_batch import send_metadata
from cordwood.cluster.controller.context.cluster_context import ClusterContext, ControllerSettings
from cordwood.cluster.controller.effects import (
    ConnectBrokers,
    DropNotifications,
    Flow,
    ReadBrokers,
    ReadTopicNames,
    perform,
)
from cordwood.cluster.controller.leadership_updates import refresh_leaderships
from cordwood.cluster.controller.partition_state_machine import start_partition_states
from cordwood.cluster.controller.reassignments import resume_reassignments
from cordwood.cluster.controller.replica_state_machine import start_replica_states
from cordwood.cluster.controller.requests.elections import elect_requested_leaders
from cordwood.cluster.controller.requests.reassignment_requests import start_requested_reassignments
from cordwood.cluster.controller.topic_changes import load_topics
from cordwood.cluster.controller.topic_deletions import continue_deletions, load_deletions


def fail_over(settings: ControllerSettings, *, epoch: int) -> Flow[ClusterContext]:
    """Load the cluster, continue everything that is unfinished, and return the context.

    The context is complete once the flow returns; events wait until then.
    """
    context = ClusterContext(settings=settings, epoch=epoch)
    yield from perform(DropNotifications())
    yield from _load(context)
    yield from load_deletions(context)
    yield from send_metadata(context, brokers=context.brokers)
    yield from start_replica_states(context)
    yield from start_partition_states(context)
    begun = yield from start_requested_reassignments(context)
    yield from resume_reassignments(context, is_resumed=lambda name, _: name not in begun)
    yield from continue_deletions(context)
    yield from elect_requested_leaders(context)
    return context


def _load(context: ClusterContext) -> Flow[None]:
    brokers = sorted((yield from perform(ReadBrokers())))
    context.register(brokers)
    names = sorted((yield from perform(ReadTopicNames())))
    if names:
        yield from load_topics(context, names)
    partitions = [*context.assignments]
    if partitions:
        yield from refresh_leaderships(context, partitions)
    context.reassigning.update(
        partition
        for partition, assignment in context.assignments.items()
        if assignment.is_being_reassigned
    )
    yield from perform(ConnectBrokers(brokers))

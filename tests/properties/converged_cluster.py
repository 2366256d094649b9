"""Rules of a cluster at rest, in which all requests are delivered and all events have run."""

from cordwood.cluster.controller.context.cluster_context import PartitionLifecycle
from cordwood.cluster.controller.context.leadership import NO_LEADER
from cordwood.core.types import TopicPartition
from tests.unit.cluster.controller.cluster_model import ClusterModel


def check_converged(model: ClusterModel) -> None:
    """Check that the cluster has converged."""
    context, store = model.context, model.store
    assert context is not None
    assert context.leaderships == store.leaderships
    assert context.topics.keys() == store.topics.keys()
    for topic, found in store.topics.items():
        assert context.assignments_of(topic) == found.partitions
    for name, assignment in context.assignments.items():
        if name.topic not in store.deletions:
            _check_partition(model, name, assignment.replicas)
    for broker in model.brokers.values():
        _check_broker(model, broker.broker_id)
    for topic in store.deletions:
        assert _is_busy(model, topic), f"{topic} is not deleted"


def _check_partition(model: ClusterModel, name: TopicPartition, replicas: tuple[int, ...]) -> None:
    context = model.context
    assert context is not None
    stored = model.store.leaderships.get(name)
    live = [each for each in replicas if each in model.brokers]
    if stored is None:
        assert not live, f"{name} was never led"
        return
    is_led = stored.leader in live
    assert set(stored.isr) <= set(live if is_led else replicas), f"{name}: {stored} {live}"
    assert not _is_ready(model, name), f"{name} is not reassigned: {stored}"
    assert is_led or not set(live) & set(stored.isr), f"{name}: {stored} of {live}"
    assert is_led == (stored.leader != NO_LEADER), f"{name}: {stored} of {live}"
    state = context.partition_state(name)
    assert (state is PartitionLifecycle.ONLINE) == is_led, f"{name}: {state}"
    for each in live:
        hosted = model.brokers[each].replicas.get(name)
        assert hosted is not None, f"{name} is not on {each}"
        assert (hosted.leader, hosted.leader_epoch) == (stored.leader, stored.leader_epoch)
        client = model.brokers[each].metadata[name]
        assert client == (stored.leader, stored.leader_epoch), f"{name} for clients of {each}"


def _is_ready(model: ClusterModel, name: TopicPartition) -> bool:
    """Return whether a reassignment has its target in sync, with a leader that has recovered.

    After an unclean election the leader's next update continues the reassignment.
    """
    assignment = model.store.topics[name.topic].partitions[name.partition]
    stored, target = model.store.leaderships[name], set(assignment.target)
    is_in_sync = target <= set(stored.isr) and not stored.is_recovering
    return assignment.is_being_reassigned and is_in_sync and bool(target & {*model.brokers})


def _is_busy(model: ClusterModel, topic: str) -> bool:
    """Return whether a deletion waits for a broker, or for a reassignment."""
    assignments = model.store.topics[topic].partitions.values()
    replicas = {each for assignment in assignments for each in assignment.replicas}
    is_reassigned = any(each.is_being_reassigned for each in assignments)
    return is_reassigned or not replicas <= model.brokers.keys()


def _check_broker(model: ClusterModel, broker_id: int) -> None:
    store = model.store
    for name, hosted in model.brokers[broker_id].replicas.items():
        found = store.topics.get(name.topic)
        is_deleted = found is None or found.topic_id != hosted.topic_id
        assert is_deleted == (hosted.topic_id in store.deleted_ids)
        is_assigned = (
            found is not None
            and not is_deleted
            and broker_id in found.partitions[name.partition].replicas
        )
        # A request to stop a replica may have been lost with its controller. The replica then
        # remains until its broker starts again.
        is_lost = model.store.controller_epoch > 1
        assert is_assigned or is_lost, f"{name} remains on {broker_id}"

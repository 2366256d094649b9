"""Changes of the stored partition states (Kafka: `PartitionStateMachine`, `AssignmentsManager`).

create    with the topic, before its logs exist: epoch 0, and the directories planned for the logs
assign    other directories than the planned ones, before the partitions are served
elect     the states with which this broker leads after a start, or a log that was missing
delete    with the topic
"""

from collections.abc import Iterable, Mapping
from itertools import islice

from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.core.metadata_paths import partition_path, partition_state_path, partitions_path
from cordwood.core.partition_state import (
    PartitionState,
    decode_state,
    encode_state,
    state_nodes,
)
from cordwood.core.ports import MetadataStore
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNodeChange
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_manager import LogManager


def read_state(store: MetadataStore, partition: TopicPartition) -> PartitionState | None:
    """Return the stored state of a partition, None if it has none yet."""
    path = partition_state_path(partition.topic, partition.partition)
    node = store.get(path)
    return None if node is None else decode_state(node.data, path=path)


def creation(
    topic: TopicImage, directories: Mapping[TopicPartition, Uuid], *, first: int
) -> list[CreateZNode]:
    """Return the nodes of the new partitions of a topic, those from `first` on."""
    states = [
        PartitionState(each.leader, each.leader_epoch, each.isr, directories.get(name))
        for name, each in islice(zip(topic.names(), topic.partitions, strict=True), first, None)
    ]
    return list(state_nodes(topic.name, states, first=first))


def deletion(store: MetadataStore, topic: str) -> list[DeleteZNode]:
    """Return the removal of a topic's partitions."""
    above = partitions_path(topic)
    numbers = [int(each) for each in store.children(above)]
    changes = []
    for number in numbers:
        if store.get(partition_state_path(topic, number)) is not None:
            changes.append(DeleteZNode(partition_state_path(topic, number)))
        changes.append(DeleteZNode(partition_path(topic, number)))
    return [*changes, *([] if store.get(above) is None else [DeleteZNode(above)])]


def assignment(
    store: MetadataStore, directories: Mapping[TopicPartition, Uuid | None]
) -> list[SetZNode]:
    """Return the changes that assign log directories to the replicas of this broker."""
    changes = []
    for partition, directory in directories.items():
        state = read_state(store, partition)
        if state is not None and state.directory != directory:
            path = partition_state_path(partition.topic, partition.partition)
            changes.append(SetZNode(path, encode_state(state._replace(directory=directory))))
    return changes


def leadership(
    store: MetadataStore,
    epochs: Mapping[TopicPartition, int],
    *,
    directories: Mapping[TopicPartition, Uuid],
) -> list[SetZNode]:
    """Return the changes by which this broker leads partitions in these leader epochs."""
    changes = []
    for partition, epoch in epochs.items():
        state = read_state(store, partition)
        if state is not None:
            path = partition_state_path(partition.topic, partition.partition)
            state = state._replace(leader_epoch=epoch, directory=directories.get(partition))
            changes.append(SetZNode(path, encode_state(state)))
    return changes


def replacement(
    store: MetadataStore, topic: str, *, states: Mapping[int, PartitionState]
) -> list[ZNodeChange]:
    """Return the changes that store these states of a topic; missing nodes are created."""
    changes: list[ZNodeChange] = []
    if states and store.get(partitions_path(topic)) is None:
        changes.append(CreateZNode(partitions_path(topic)))
    for number, state in states.items():
        path, data = partition_state_path(topic, number), encode_state(state)
        if store.get(path) is not None:
            changes.append(SetZNode(path, data))
            continue
        if store.get(partition_path(topic, number)) is None:
            changes.append(CreateZNode(partition_path(topic, number)))
        changes.append(CreateZNode(path, data))
    return changes


def directory_id_of(manager: LogManager, log: Log) -> Uuid | None:
    """Return the id of the log directory that contains a log; None for one without an id."""
    meta = manager.directory_of(log).meta
    return None if meta is None else meta.directory_id


def directory_ids(
    manager: LogManager, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, Uuid]:
    """Return the directory ids of the partitions whose logs are usable here."""
    found = {}
    for partition in partitions:
        log = manager.logs.get(partition)
        directory = None if log is None else directory_id_of(manager, log)
        if directory is not None:
            found[partition] = directory
    return found


def corrections(
    manager: LogManager,
    partitions: Iterable[TopicPartition],
    *,
    stored: Mapping[TopicPartition, Uuid],
) -> dict[TopicPartition, Uuid | None]:
    """Return the directory ids of partitions whose logs are elsewhere than it is stored.

    A log that could not be created has none. The log of an offline directory stays where it is.
    """
    partitions = [*partitions]
    found = directory_ids(manager, partitions)
    return {
        name: found.get(name)
        for name in partitions
        if found.get(name) != stored.get(name)
        and (name in found or not manager.has_partition(name))
    }

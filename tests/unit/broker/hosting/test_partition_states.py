"""Partition states are created, assigned, replaced and deleted with their nodes."""

from cordwood.broker.hosting import partition_states
from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.broker.metadata.topic_znodes import folders
from cordwood.core.metadata_paths import topic_path
from cordwood.core.partition_state import PartitionState
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.core.znodes import CreateZNode
from cordwood.testing.memory_metadata import MemoryMetadata

HERE = Uuid(bytes(range(16)))
T0, T1 = (TopicPartition(TopicName("t"), PartitionId(number)) for number in (0, 1))


def stored(count: int, directories: dict[TopicPartition, Uuid] | None = None) -> MemoryMetadata:
    """Return metadata with a topic t of this many partitions."""
    store = MemoryMetadata()
    topic = TopicImage.new("t", HERE, replicas=[(1,)] * count)
    nodes = partition_states.creation(topic, directories or {}, first=0) if count else []
    store.multi([*folders(), CreateZNode(topic_path("t")), *nodes])
    return store


def test_new_partition_has_the_directory_planned_for_it() -> None:
    store = stored(2, {T1: HERE})

    assert partition_states.read_state(store, T0) == PartitionState(1, 0, (1,))
    assert partition_states.read_state(store, T1) == PartitionState(1, 0, (1,), HERE)


def test_partition_without_a_node_has_no_state() -> None:
    assert partition_states.read_state(stored(1), T1) is None


def test_assignment_changes_only_the_directory() -> None:
    store = stored(2)

    store.multi(partition_states.assignment(store, {T1: HERE}))

    assert partition_states.read_state(store, T1) == PartitionState(1, 0, (1,), HERE)
    assert partition_states.assignment(store, {T1: HERE}) == []


def test_state_of_a_topic_deleted_meanwhile_is_not_assigned() -> None:
    assert partition_states.assignment(stored(0), {T0: HERE}) == []


def test_leadership_changes_the_epoch_and_the_directory() -> None:
    store = stored(2)

    store.multi(partition_states.leadership(store, {T0: 3, T1: 4}, directories={T1: HERE}))

    assert partition_states.read_state(store, T0) == PartitionState(1, 3, (1,))
    assert partition_states.read_state(store, T1) == PartitionState(1, 4, (1,), HERE)


def test_leadership_of_a_topic_deleted_meanwhile_is_not_stored() -> None:
    assert partition_states.leadership(stored(0), {T0: 1}, directories={}) == []


def test_replacement_creates_missing_nodes() -> None:
    states = {0: PartitionState(1, 4, (1,), HERE), 1: PartitionState(1, 5, (1,))}
    for store in (stored(0), stored(1), stored(2)):
        store.multi(partition_states.replacement(store, "t", states=states))

        assert partition_states.read_state(store, T0) == states[0]
        assert partition_states.read_state(store, T1) == states[1]


def test_deletion_leaves_only_the_topic() -> None:
    store = stored(2)

    store.multi(partition_states.deletion(store, "t"))

    assert store.children(topic_path("t")) == []
    assert partition_states.deletion(store, "t") == []

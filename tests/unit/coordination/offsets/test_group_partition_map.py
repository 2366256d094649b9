"""A map of group partitions finds the values of a group, and has no empty levels."""

from cordwood.coordination.offsets.group_partition_map import GroupPartition, GroupPartitionMap

A0 = GroupPartition("g", "a", 0)
A1 = GroupPartition("g", "a", 1)
OTHER = GroupPartition("h", "a", 0)


def test_value_is_found_by_its_key() -> None:
    values = GroupPartitionMap[int]()

    values.put(A0, 1)
    values.put(A0, 2)

    assert values.get(A0) == 2
    assert values.get(A1) is None
    assert values.get(OTHER) is None


def test_values_of_a_group_are_by_topic_and_partition() -> None:
    values = GroupPartitionMap[int]()
    for number, key in enumerate((A1, OTHER, A0)):
        values.put(key, number)

    assert values.of_group("g") == {"a": {1: 0, 0: 2}}
    assert values.of_group("missing") == {}
    assert list(values) == [(A1, 0), (A0, 2), (OTHER, 1)]


def test_values_of_a_topic_are_set_together() -> None:
    values = GroupPartitionMap[int]()
    values.put(A1, 0)

    values.put_all("g", "a", values={0: 5, 1: 6})

    assert list(values) == [(A1, 6), (A0, 5)]


def test_group_goes_with_its_last_value() -> None:
    values = GroupPartitionMap[int]()
    values.put(A0, 1)
    values.put(A1, 2)

    assert values.remove(A0) == 1
    assert list(values.group_ids()) == ["g"]
    assert values.remove(A1) == 2

    assert not values
    assert values.remove(A1) is None


def test_values_of_a_topic_are_removed_together() -> None:
    values = GroupPartitionMap[int]()
    for number, key in enumerate((A0, A1, OTHER)):
        values.put(key, number)

    values.remove_all("g", "a", partitions=[1, 5])
    before = dict(values.of_topic("g", "a"))
    values.remove_all("g", "a", partitions=[0])
    values.remove_all("missing", "a", partitions=[0])

    assert before == {0: 0}
    assert values.of_topic("g", "a") == {}
    assert list(values) == [(OTHER, 2)]

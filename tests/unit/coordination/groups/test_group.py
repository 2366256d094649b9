"""The values that groups of both kinds share."""

import pytest

from cordwood.coordination.groups.group import CommittedPartition, GroupType
from cordwood.core.uuids import NO_UUID


@pytest.mark.parametrize(
    ("kind", "name"), ((GroupType.CLASSIC, "classic"), (GroupType.CONSUMER, "consumer"))
)
def test_group_type_has_the_name_of_kafka(kind: GroupType, name: str) -> None:
    assert kind.value == name


def test_committed_partition_has_no_topic_id_when_the_commit_names_the_topic() -> None:
    committed = CommittedPartition("orders", partition=1)

    assert committed.topic_id == NO_UUID

"""Topics are served with the logs that there are, and served no more."""

import errno

import pytest

from cordwood.broker.hosting import drop_topic, serve_topic
from cordwood.broker.image import NO_LEADER
from cordwood.core.errors import KafkaStorageError, UnknownTopicOrPartitionError
from cordwood.testing.faults import Fault
from tests.unit.broker.broker_samples import Hall
from tests.unit.broker.image_samples import topic, topic_id
from tests.unit.storage.manager_samples import partition

ORDERS = topic("orders", 2)


def hall(*numbers: int) -> Hall:
    made = Hall()
    for number in numbers:
        made.manager.create(partition(number), topic_id=topic_id("orders"))
    return made


def test_partitions_are_served_in_the_epoch_that_they_have() -> None:
    place = hall(0, 1)
    later = ORDERS.partitions[0]._replace(leader_epoch=4)

    served = serve_topic(
        type(ORDERS)("orders", ORDERS.topic_id, (later, later)), place.hosting, refused={}
    )

    assert [each.leader for each in served.partitions] == [1, 1]
    assert place.broker.partitions.get("orders", 1).leader_epoch == 4


def test_partition_whose_log_is_refused_has_no_leader() -> None:
    place = hall(0)

    served = serve_topic(
        ORDERS, place.hosting, refused={partition(1): KafkaStorageError("no room")}
    )

    assert [each.leader for each in served.partitions] == [1, NO_LEADER]
    assert place.house.events == ["orders-1 cannot be served: no room"]


def test_dropped_topic_has_neither_logs_nor_copies() -> None:
    place = hall(0, 1)
    serve_topic(ORDERS, place.hosting, refused={})
    place.manager.create_future(partition(0), place.manager.directories[1])

    drop_topic(ORDERS, place.hosting)

    assert not place.manager.all_logs()
    with pytest.raises(UnknownTopicOrPartitionError):
        place.broker.partitions.get("orders", 0)


def test_dropped_topic_whose_files_cannot_be_moved_is_told_of() -> None:
    place = hall(0, 1)
    serve_topic(ORDERS, place.hosting, refused={})
    place.house.files.script.add(Fault(on="rename", path="*orders-0*", code=errno.ENOSPC))

    drop_topic(ORDERS, place.hosting)

    assert [*place.manager.logs] == [partition(0)]
    (event,) = place.house.events
    assert event.startswith("orders-0 is deleted, and its files are still there: ")

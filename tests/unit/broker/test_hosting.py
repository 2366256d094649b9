"""Topics are served with the logs that there are, and served no more."""

import errno

from cordwood.broker.hosting import delete_log, serve_topic
from cordwood.broker.image import NO_LEADER
from cordwood.core.errors import KafkaStorageError
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


def test_deleted_partition_has_neither_log_nor_copy() -> None:
    place = hall(0, 1)
    place.manager.create_future(partition(0), place.manager.directories[1])

    delete_log(partition(0), place.hosting)

    assert [log.partition for log in place.manager.all_logs()] == [partition(1)]


def test_partition_without_a_log_is_deleted_without_a_word() -> None:
    place = hall()

    delete_log(partition(0), place.hosting)

    assert not place.house.events


def test_deleted_partition_whose_files_cannot_be_moved_is_told_of() -> None:
    place = hall(0)
    place.house.files.script.add(Fault(on="rename", path="*orders-0*", code=errno.ENOSPC))

    delete_log(partition(0), place.hosting)

    assert [*place.manager.logs] == [partition(0)]
    (event,) = place.house.events
    assert event.startswith("orders-0 is deleted, and its files are still there: ")

"""What a replay fixes before it begins, and how far it has come."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

import cordwood
from cordwood.core.errors import LogDirectoryError, SettingError, UnknownTopicOrPartitionError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.replay_plan import parse_replay, tasks_of
from tests.unit.spark.jobs.replay_samples import broker, ordered, send

pytestmark = pytest.mark.spark

__all__ = ("broker",)


def test_replay_needs_a_topic_to_go_to() -> None:
    with pytest.raises(SettingError, match="nobody says which topic"):
        parse_replay({"path": "logs"}, {"kafka.bootstrap.servers": "localhost:1"})


def test_plan_has_a_task_for_each_partition(broker: cordwood.Broker, tmp_path: Path) -> None:
    tasks = tasks_of(ordered(broker, tmp_path), SystemFiles())

    assert [str(task.target) for task in tasks] == ["again-0", "again-1"]
    assert [(task.base, task.done) for task in tasks] == [(0, 0), (0, 0)]
    assert all(task.size > 0 for task in tasks)


def test_plan_that_was_kept_does_not_change(broker: cordwood.Broker, tmp_path: Path) -> None:
    order = ordered(broker, tmp_path)
    before = tasks_of(order, SystemFiles())
    send(broker, "orders", 8, 10)
    send(broker, "again", 1, 3)

    after = tasks_of(order, SystemFiles())

    assert [task.splits for task in after] == [task.splits for task in before]
    assert [(task.base, task.done) for task in after] == [(0, 0), (0, 2)]


def test_state_of_another_replay_is_refused(broker: cordwood.Broker, tmp_path: Path) -> None:
    tasks_of(ordered(broker, tmp_path), SystemFiles())

    with pytest.raises(LogDirectoryError, match="is the state of a replay with other options"):
        tasks_of(ordered(broker, tmp_path, startingTimestamp="5"), SystemFiles())


@pytest.mark.parametrize("text", ("{", "[]", '{"told": {}}'))
def test_state_that_is_damaged_is_named(broker: cordwood.Broker, tmp_path: Path, text: str) -> None:
    order = ordered(broker, tmp_path)
    assert order.state is not None
    Path(order.state).write_text(text)

    with pytest.raises(LogDirectoryError, match=f"{order.state}: is no state of a replay"):
        tasks_of(order, SystemFiles())


def test_target_that_was_made_anew_is_refused(broker: cordwood.Broker, tmp_path: Path) -> None:
    order = ordered(broker, tmp_path)
    send(broker, "again", 1, 3)
    tasks_of(order, SystemFiles())
    with cordwood.Admin(broker.address) as admin:
        admin.delete_topic("again")
        admin.create_topic("again", partitions=2)

    with pytest.raises(LogDirectoryError, match="says that again-1 ended at 2 before, and it ends"):
        tasks_of(order, SystemFiles())


def test_target_needs_the_partitions_of_the_source(broker: cordwood.Broker, tmp_path: Path) -> None:
    with cordwood.Admin(broker.address) as admin:
        admin.delete_topic("again")

    with pytest.raises(UnknownTopicOrPartitionError, match="make it with at least 2"):
        tasks_of(ordered(broker, tmp_path), SystemFiles())


def test_two_topics_do_not_become_one(broker: cordwood.Broker, tmp_path: Path) -> None:
    send(broker, "returns", 1)

    with pytest.raises(SettingError, match="2 topics would become one: orders, returns"):
        tasks_of(ordered(broker, tmp_path, subscribe="orders,returns"), SystemFiles())

"""Plan and progress of a replay."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import json
from pathlib import Path

import cordwood
from cordwood.core.errors import LogDirectoryError, SettingError, UnknownTopicOrPartitionError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.topic_replay.replay_plan import parse_replay_options, plan_tasks
from tests.unit.spark.jobs.replay_samples import broker, ordered, send

pytestmark = pytest.mark.spark

__all__ = ("broker",)


def test_replay_needs_a_target_topic() -> None:
    with pytest.raises(SettingError, match="no target topic is given"):
        parse_replay_options({"path": "logs"}, {"kafka.bootstrap.servers": "localhost:1"})


def test_state_needs_an_idempotent_producer() -> None:
    to = {"kafka.bootstrap.servers": "localhost:1", "topic": "t"}
    to["kafka.enable.idempotence"] = "false"

    with pytest.raises(SettingError, match="needs an idempotent producer; remove the option"):
        parse_replay_options({"path": "logs"}, to, state="state")

    assert parse_replay_options({"path": "logs"}, to).state is None


def test_plan_has_a_task_for_each_partition(broker: cordwood.Broker, tmp_path: Path) -> None:
    tasks = plan_tasks(ordered(broker, tmp_path), SystemFiles())

    assert [str(task.target) for task in tasks] == ["again-0", "again-1"]
    assert [(task.base, task.done) for task in tasks] == [(0, 0), (0, 0)]
    assert all(task.size > 0 for task in tasks)


def test_plan_in_the_state_does_not_change(broker: cordwood.Broker, tmp_path: Path) -> None:
    order = ordered(broker, tmp_path)
    before = plan_tasks(order, SystemFiles())
    send(broker, "orders", 8, 10)
    send(broker, "again", 1, 3)

    after = plan_tasks(order, SystemFiles())

    assert [task.splits for task in after] == [task.splits for task in before]
    assert [(task.base, task.done) for task in after] == [(0, 0), (0, 2)]


def test_state_of_another_replay_is_rejected(broker: cordwood.Broker, tmp_path: Path) -> None:
    plan_tasks(ordered(broker, tmp_path), SystemFiles())

    with pytest.raises(LogDirectoryError, match="the state of a replay with other options"):
        plan_tasks(ordered(broker, tmp_path, startingTimestamp="5"), SystemFiles())


@pytest.mark.parametrize(
    "text",
    (
        "{",
        "[]",
        '{"told": {}}',
        json.dumps({"told": {}, "splits": 1, "bases": []}),
        json.dumps({"told": {}, "splits": [["t", 0, 0, "5", 1, None]], "bases": []}),
        json.dumps({"told": {}, "splits": [], "bases": [[0]]}),
    ),
)
def test_state_that_is_damaged_is_named(broker: cordwood.Broker, tmp_path: Path, text: str) -> None:
    order = ordered(broker, tmp_path)
    assert order.state is not None
    Path(order.state).write_text(text)

    with pytest.raises(LogDirectoryError, match=f"{order.state}: not the state of a replay"):
        plan_tasks(order, SystemFiles())


def test_target_that_was_created_again_is_rejected(broker: cordwood.Broker, tmp_path: Path) -> None:
    order = ordered(broker, tmp_path)
    send(broker, "again", 1, 3)
    plan_tasks(order, SystemFiles())
    with cordwood.Admin(broker.address) as admin:
        admin.delete_topic("again")
        admin.create_topic("again", partitions=2)

    with pytest.raises(LogDirectoryError, match="again-1 was truncated or created again"):
        plan_tasks(order, SystemFiles())


def test_target_needs_the_partitions_of_the_source(broker: cordwood.Broker, tmp_path: Path) -> None:
    with cordwood.Admin(broker.address) as admin:
        admin.delete_topic("again")

    with pytest.raises(UnknownTopicOrPartitionError, match="create it with at least 2"):
        plan_tasks(ordered(broker, tmp_path), SystemFiles())


def test_two_topics_are_not_merged(broker: cordwood.Broker, tmp_path: Path) -> None:
    send(broker, "returns", 1)

    with pytest.raises(SettingError, match=r"2 topics would be merged \(orders, returns\)"):
        plan_tasks(ordered(broker, tmp_path, subscribe="orders,returns"), SystemFiles())

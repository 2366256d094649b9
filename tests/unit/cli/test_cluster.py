"""`cordwood cluster` as it is called; `tests/robustness` runs `up`."""

import asyncio
import json

import pytest

import cordwood
from cordwood.cli import cluster as cluster_command
from tests.unit.cli.commands import Command
from tests.unit.node.cluster_samples import (
    addresses,
    cluster,
    create_orders,
    in_sync,
    leader_of,
    until,
)
from tests.unit.node.node_samples import run


def test_brokers_are_printed_with_their_partitions(command: Command, bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=3)

    table = command("cluster", "brokers").out.splitlines()
    row = json.loads(command("cluster", "brokers", "--json").out)

    assert table[0].split() == [
        *("Broker", "Address", "Rack", "Controller", "Leaders", "Replicas", "InSync")
    ]
    assert table[1].split() == ["1", bootstrap, "-", "yes", "3", "3", "3"]
    assert (row["broker"], row["leaders"], row["rack"]) == (1, 3, None)


def test_status_of_a_sound_cluster_is_one_row(command: Command, bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=3)

    found = command("cluster", "status")

    assert found.code == 0
    titles, row = (line.split() for line in found.out.splitlines())
    assert titles[1:] == ["Controller", "Brokers", "Partitions", "Leaderless", "UnderReplicated"]
    assert row[1:] == ["1", "1", "3", "0", "0"]


def test_election_of_a_right_leader_changes_nothing(command: Command, bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=2)

    whole = command("cluster", "elect-leaders")
    assert whole == (0, "", "no partition has another leader than before\n")
    assert command("cluster", "elect-leaders", "--topic", "orders", "--partition", "1").code == 0


def test_moves_need_a_topic_and_broker_ids(command: Command, bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=1)

    assert "give the topic" in command("cluster", "reassign", "--replicas", "1").err
    assert "give the topic" in command("cluster", "elect-leaders", "--partition", "1").err
    assert "--additional" in command("cluster", "reassign", "--throttle", "7000").err
    wrong = command("cluster", "reassign", "--topic", "orders", "--replicas", "one")
    assert (wrong.code, "broker ids" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    (("elect-leaders",), ("reassign", "--verify"), ("reassign", "--cancel")),
    ids=" ".join,
)
def test_partition_that_the_topic_lacks_is_rejected(
    command: Command, bootstrap: str, arguments: tuple[str, ...]
) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=2)

    rejected = command("cluster", *arguments, "--topic", "orders", "--partition", "99")

    assert rejected.code == 2
    assert "topic 'orders' has 2 partitions, which begin at 0" in rejected.err


def test_move_to_the_present_broker_begins_and_none_is_in_progress(
    command: Command, bootstrap: str
) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=1)

    moved = command("cluster", "reassign", "--topic", "orders", "--replicas", "1")

    assert (moved.code, moved.out) == (0, "orders-0: the move has begun\n")
    assert command("cluster", "reassign").out == ""
    cancelled = command("cluster", "reassign", "--topic", "orders", "--cancel")
    assert cancelled == (0, "", "no partition moves\n")


def test_throttle_is_set_before_a_move_and_removed_after_its_end(
    command: Command, bootstrap: str
) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=1)
    name = ("--topic", "orders")

    moved = command("cluster", "reassign", *name, "--replicas", "1", "--throttle", "7000")
    topic = command("configs", "describe", "--entity-type", "topics", "--entity-name", "orders")
    verified = command("cluster", "reassign", *name, "--replicas", "1", "--verify")
    after = command("configs", "describe", "--entity-type", "topics", "--entity-name", "orders")

    assert "7000 bytes per second" in moved.err
    assert "leader.replication.throttled.replicas = 0:1 (topic)" in topic.out
    assert [line.split() for line in verified.out.splitlines()] == [
        ["Topic", "Partition", "Replicas", "State"],
        ["orders", "0", "1", "complete"],
    ]
    assert after.out == "topic orders\n"


def test_verification_of_all_moves_removes_the_throttles_of_all_topics(
    command: Command, bootstrap: str
) -> None:
    with cordwood.Admin(bootstrap) as admin:
        for name in ("orders", "stock", "other"):
            admin.create_topic(name, partitions=1)
    for name in ("orders", "stock"):
        move = ("--topic", name, "--replicas", "1", "--throttle", "7000")
        assert "`cordwood cluster reassign --verify`" in command("cluster", "reassign", *move).err

    verified = command("cluster", "reassign", "--verify")
    again = command("cluster", "reassign", "--verify")

    assert [line.split()[:2] for line in verified.out.splitlines()[1:]] == [
        ["orders", "0"],
        ["stock", "0"],
    ]
    assert again == (0, "", "no partition moves\n")
    settings = command("configs", "describe", "--entity-type", "topics")
    assert "throttled" not in settings.out


def test_cancellation_of_all_moves_without_one_is_no_error(
    command: Command, bootstrap: str
) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=1)

    assert command("cluster", "reassign", "--cancel") == (0, "", "no partition moves\n")


def test_verification_of_other_replicas_fails(command: Command, bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=1)

    found = command("cluster", "reassign", "--topic", "orders", "--replicas", "2", "--verify")
    both = command("cluster", "reassign", "--topic", "orders", "--verify", "--cancel")

    assert (found.code, "other replicas" in found.out) == (1, True)
    assert (both.code, "give one of" in both.err) == (2, True)


def test_directories_are_given_for_each_replica(command: Command, bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.create_topic("orders", partitions=1)
        (directory,) = admin.describe_log_dirs(1)
    move = ("cluster", "reassign", "--topic", "orders", "--replicas", "1", "--log-dirs")

    present = command(*move, directory.path, "--replica-alter-log-dirs-throttle", "9000")
    unknown = command(*move, "/nowhere")

    assert (present.code, present.out) == (0, "orders-0: the move has begun\n")
    assert (unknown.code, "orders-0" in unknown.err) == (1, True)
    assert command(*move, "any").code == 0
    assert "for each replica" in command(*move, "any,any").err


def test_elected_leaders_are_printed_with_the_former_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def scene() -> tuple[int, int]:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            preferred = leader_of(found.brokers[1])
            await found.stop(preferred)
            broker = await found.start(preferred)
            await until(lambda: leader_of(broker) > 0 and in_sync(broker) == {1, 2, 3})
            former = leader_of(broker)
            await asyncio.to_thread(
                cluster_command.elect_leaders, topic="orders", bootstrap_server=addresses(found)
            )
            return preferred, former

    preferred, former = run(scene())

    words = f"orders-0: broker {preferred} leads, before: broker {former} leads\n"
    assert capsys.readouterr().out == words

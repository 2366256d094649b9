"""`cordwood transactions` as it is called."""

import json

import pytest

import cordwood
from tests.unit.cli.commands import Command


def leave_open(bootstrap: str) -> None:
    with (
        cordwood.Admin(bootstrap) as admin,
        cordwood.Producer(bootstrap, transactional_id="etl") as producer,
    ):
        admin.create_topic("orders", partitions=1)
        producer.begin()
        for value in (b"plank", b"beam"):
            producer.send("orders", value).result()
        producer.detach()


def test_open_transaction_is_listed_and_described(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)

    listed = command("transactions", "list").out.splitlines()
    described = json.loads(
        command("transactions", "describe", "--transactional-id", "etl", "--json").out
    )

    assert [line.split()[:2] for line in listed] == [
        ["TransactionalId", "Coordinator"],
        ["etl", "1"],
    ]
    assert (described["transaction_state"], described["topic_partitions"]) == (
        "Ongoing",
        "orders-0",
    )
    assert described["transaction_duration_ms"] >= 0


def test_ongoing_transaction_does_not_hang(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)

    found = command("transactions", "find-hanging", "--max-transaction-timeout", "0")

    assert (found.code, len(found.out.splitlines())) == (0, 1)


def test_transaction_is_aborted_by_its_start(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)
    place = ("--topic", "orders", "--partition", "0", "--start-offset")

    wrong = command("transactions", "abort", *place, "1")
    right = command("transactions", "abort", *place, "0")

    assert (wrong.code, right.code) == (1, 0)
    assert "no open transaction begins at offset 1" in wrong.err


def test_unknown_id_is_an_error(command: Command) -> None:
    result = command("transactions", "describe", "--transactional-id", "etl")

    assert result.code == 1
    assert "check the name" in result.err


def test_transactional_id_is_an_argument_too(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)

    found = command("transactions", "describe", "etl", "--json")
    ended = command("transactions", "force-terminate", "etl", "--transactional-id", "etl")

    assert json.loads(found.out)["transactional_id"] == "etl"
    assert ended.code == 0


@pytest.mark.parametrize("words", ((), ("etl", "--transactional-id", "other")))
def test_no_transactional_id_and_two_of_them_are_wrong_usage(
    command: Command, words: tuple[str, ...]
) -> None:
    assert command("transactions", "describe", *words).code == 2


def test_negative_duration_lists_all_transactions(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)

    assert len(command("transactions", "list", "--duration-filter", "-1").out.splitlines()) == 2
    assert (
        len(command("transactions", "list", "--duration-filter", "9999999").out.splitlines()) == 1
    )


def test_producers_of_a_partition_are_described(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)
    place = ("--topic", "orders", "--partition", "0", "--json")

    (line,) = command("transactions", "describe-producers", *place).out.splitlines()
    of_broker = command("transactions", "describe-producers", *place, "--broker-id", "1")
    elsewhere = command("transactions", "describe-producers", *place, "--broker-id", "7")

    found = json.loads(line)
    assert (found["last_sequence"], found["current_transaction_start_offset"]) == (1, 0)
    assert of_broker.out.splitlines() == [line]
    assert elsewhere.code != 0
    assert "no broker 7" in elsewhere.err


def test_search_is_limited_to_a_partition_and_a_broker(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)
    hanging = ("transactions", "find-hanging")

    assert command(*hanging, "--topic", "orders", "--partition", "0", "--broker-id", "1").code == 0
    assert command(*hanging, "--broker-id", "1").code == 0
    missing = command(*hanging, "--topic", "orders", "--partition", "9")
    assert "topic 'orders' has no partition 9" in missing.err
    assert command(*hanging, "--partition", "0").code == 2


def test_transaction_is_aborted_by_its_producer(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)
    place = ("--topic", "orders", "--partition", "0")
    (line,) = command("transactions", "describe-producers", *place, "--json").out.splitlines()
    producer_id = str(json.loads(line)["producer_id"])

    wrong = command("transactions", "abort", *place, "--producer-id", "4711")
    right = command("transactions", "abort", *place, "--producer-id", producer_id)
    again = command(
        *("transactions", "abort", *place, "--producer-id", producer_id),
        *("--producer-epoch", "0", "--coordinator-epoch", "0"),
    )

    assert "the leader knows no producer 4711" in wrong.err
    assert (right.code, again.code) == (0, 0)
    (line,) = command("transactions", "describe-producers", *place, "--json").out.splitlines()
    assert json.loads(line)["current_transaction_start_offset"] is None


def test_abort_takes_an_offset_or_a_producer(command: Command) -> None:
    place = ("transactions", "abort", "--topic", "orders", "--partition", "0")

    assert command(*place).code == 2
    assert command(*place, "--start-offset", "0", "--producer-id", "1").code == 2


def test_transaction_is_terminated_by_its_id(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap)

    done = command("transactions", "force-terminate", "--transactional-id", "etl")
    missing = command("transactions", "forceTerminateTransaction", "--transactionalId", "nope")

    described = json.loads(
        command("transactions", "describe", "--transactional-id", "etl", "--json").out
    )
    assert (done.code, described["transaction_state"]) == (0, "Empty")
    assert "check the name" in missing.err

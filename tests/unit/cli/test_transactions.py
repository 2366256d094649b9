"""`cordwood transactions` as it is called."""

import json

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

    assert [line.split()[0] for line in listed] == ["TransactionalId", "etl"]
    assert (described["TransactionState"], described["TopicPartitions"]) == ("Ongoing", "orders-0")


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

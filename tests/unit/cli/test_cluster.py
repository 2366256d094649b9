"""`cordwood cluster` as it is called; `tests/robustness` runs `up`."""

import json

import cordwood
from tests.unit.cli.commands import Command


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

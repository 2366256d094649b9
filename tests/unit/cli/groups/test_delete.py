"""`cordwood groups delete` and `delete-offsets` as they are called."""

from tests.unit.cli.commands import Command
from tests.unit.cli.groups.group_samples import committed, make_group, running_member


def test_groups_are_deleted(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1}, group="a")
    make_group(bootstrap, {("orders", 0): 1}, group="b")

    assert command("groups", "delete", "--all-groups") == (0, "a: deleted\nb: deleted\n", "")
    assert command("groups", "list").out == ""


def test_group_that_cannot_be_deleted_does_not_stop_the_others(
    command: Command, bootstrap: str
) -> None:
    make_group(bootstrap, {("orders", 0): 1})

    result = command("groups", "delete", "billing", "--group", "absent")

    assert (result.code, result.out) == (1, "billing: deleted\n")
    assert "group 'absent'" in result.err


def test_offsets_are_deleted(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1, ("orders", 1): 0})

    words = ("groups", "delete-offsets", "billing", "--topic", "orders:1")
    result = command(*words)

    assert result.out.split() == [
        *("TOPIC", "PARTITION", "STATUS"),
        *("orders", "1", "Successful"),
    ]
    assert committed(bootstrap) == {("orders", 0): 1}


def test_offsets_of_a_subscribed_topic_are_kept(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})

    with running_member(bootstrap):
        result = command("groups", "delete-offsets", "--group", "billing", "--topic", "orders")

    assert result.code == 1
    assert "Error: the group is subscribed to the topic" in result.out
    assert committed(bootstrap) == {("orders", 0): 1}

"""Options of `cordwood produce` take effect."""

import json

import pytest

from tests.unit.cli.commands import Command


def test_options_select_the_records_to_send(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=2")
    how = ("--key-separator=:", "--null-marker=-", "--header", "from=web", "--partition=1")

    result = command("produce", "a", *how, "--compression-codec=zstd", "--acks=1", stdin=b"k:-\n")

    assert result == (0, "", "a: 1 record delivered\n")
    parsed = json.loads(command("consume", "a", "--offset=0", "--max-messages=1", "--json").out)
    assert (parsed["partition"], parsed["key"], parsed["value"]) == (1, "k", None)
    assert parsed["headers"] == [["from", "web"]]


@pytest.mark.parametrize("setting", ("compression.type=brotli", "acks=2"))
def test_option_that_is_not_given_leaves_the_setting(command: Command, setting: str) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    option = {"compression.type": "--compression-codec=none", "acks": "--acks=all"}
    words = ("produce", "a", f"--command-property={setting}")

    rejected = command(*words, stdin=b"x\n")
    overridden = command(*words, option[setting.partition("=")[0]], stdin=b"x\n")

    assert rejected.code == 2
    assert setting.partition("=")[2] in rejected.err
    assert overridden == (0, "", "a: 1 record delivered\n")


def test_unknown_compression_type_is_rejected(command: Command) -> None:
    assert command("produce", "a", "--compression-codec=brotli").code == 2

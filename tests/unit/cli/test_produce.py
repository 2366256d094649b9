"""The options of `cordwood produce` are heard."""

import json

from tests.unit.cli.commands import Command


def test_options_decide_what_is_sent(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=2")
    how = ("--key-separator=:", "--null-marker=-", "--header", "from=web", "--partition=1")

    said = command("produce", "a", *how, "--compression-codec=zstd", "--acks=1", stdin=b"k:-\n")

    assert said == (0, "", "a: 1 records delivered\n")
    told = json.loads(command("consume", "a", "--offset=0", "--max-messages=1", "--json").out)
    assert (told["partition"], told["key"], told["value"]) == (1, "k", None)
    assert told["headers"] == [["from", "web"]]


def test_unknown_codec_is_refused(command: Command) -> None:
    assert command("produce", "a", "--compression-codec=brotli").code == 2

"""`cordwood spark sink` as it is called."""

import json
from pathlib import Path

import cordwood
from tests.unit.cli.commands import Command

QUERY = "a4cdd2a9-29b1-4d2b-9d5b-8d2cf3a8b0d5"


def leave_open(bootstrap: str, sink: str) -> None:
    with (
        cordwood.Admin(bootstrap) as admin,
        cordwood.Producer(bootstrap, transactional_id=f"{sink}-7.0-3") as producer,
    ):
        admin.create_topic("orders", partitions=1)
        producer.begin()
        producer.send("orders", b"plank")
        producer.detach()


def test_open_transaction_is_shown_and_aborted(command: Command, bootstrap: str) -> None:
    leave_open(bootstrap, "mine")

    shown = json.loads(command("spark", "sink", "status", "--sink", "mine", "--json").out)
    aborted = command("spark", "sink", "abort", "--sink", "mine")

    assert (shown["transaction"], shown["state"]) == ("mine-7.0-3", "not decided")
    assert (shown["partitions"], shown["open_since"][:2]) == ("orders-0", "20")
    assert (aborted.code, len(aborted.out.splitlines())) == (0, 1)


def test_sink_is_found_by_its_checkpoint(command: Command, bootstrap: str, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text(json.dumps({"id": QUERY}), encoding="utf-8")
    leave_open(bootstrap, f"cordwood-{QUERY}")

    shown = command("spark", "sink", "status", "--checkpoint", str(tmp_path))

    assert f"cordwood-{QUERY}-7.0-3" in shown.out


def test_sink_without_a_name_is_an_error(command: Command) -> None:
    assert "either --sink or --checkpoint" in command("spark", "sink", "status").err

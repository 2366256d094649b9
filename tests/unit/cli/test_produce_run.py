"""Lines are sent as records; failures are counted and printed."""

import signal
from pathlib import Path

import pytest
import typer

from cordwood.cli import produce_run
from cordwood.cli.produce_run import line_reader, producer_config, record_throttle
from tests.unit.cli.commands import Command


@pytest.fixture(autouse=True)
def _topic(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")


def values(command: Command, count: int) -> list[str]:
    result = command("consume", "a", "--from-beginning", f"--max-messages={count}")
    return result.out.splitlines()


def test_each_line_is_a_record(command: Command) -> None:
    command("produce", "a", stdin=b"x\n\nlast")

    assert values(command, 3) == ["x", "", "last"]


def test_file_is_read_instead_of_the_standard_input(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"x\ny\n")

    assert command("produce", "a", "--file", str(file)).err == "a: 2 records delivered\n"
    assert values(command, 2) == ["x", "y"]


def test_missing_file_is_unreachable(command: Command) -> None:
    result = command("produce", "a", "--file", "/nowhere")

    assert result.code == 3
    assert len(result.err.splitlines()) == 1


def test_invalid_line_stops_after_earlier_lines_are_sent(command: Command) -> None:
    result = command("produce", "a", "--json", stdin=b'{"value": "x"}\nx\n{"value": "y"}\n')

    assert result.code == 1
    delivered, problem = result.err.splitlines()
    assert delivered == "a: 1 record delivered"
    assert problem.startswith("cordwood: line 2: the line is not JSON")
    assert values(command, 1) == ["x"]


def test_misspelt_value_is_rejected_and_not_a_tombstone(command: Command) -> None:
    result = command("produce", "a", "--json", stdin=b'{"key": "k", "vlaue": "x"}\n')

    assert result.code == 1
    delivered, problem = result.err.splitlines()
    assert delivered == "a: 0 records delivered"
    assert problem.startswith("cordwood: line 1: the line has the unknown field 'vlaue'")


def test_rejected_record_is_counted(command: Command) -> None:
    limit = ("--add-config", "max.message.bytes=100")
    command("configs", "alter", "--entity-type", "topics", "--entity-name", "a", *limit)

    result = command("produce", "a", stdin=b"x" * 200)

    assert result.code == 1
    assert result.err.startswith("a: 0 records delivered, 1 failed: ")


def test_missing_topic_fails_after_the_timeout(command: Command) -> None:
    result = command("produce", "b", "--command-property", "max.block.ms=300", stdin=b"x\n")

    assert result.code in {1, 3}
    assert "b" in result.err.splitlines()[-1]


def test_ctrl_c_stops_after_sent_records_are_delivered(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_count: int) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(produce_run, "record_throttle", lambda _rate: interrupt)

    result = command("produce", "a", stdin=b"x\ny\n")

    assert result == (130, "", "a: 1 record delivered\n")
    assert values(command, 1) == ["x"]


def test_rate_is_accepted(command: Command) -> None:
    assert command("produce", "a", "--rate=1000", stdin=b"x\ny\n").code == 0


def test_missing_rate_is_no_throttle() -> None:
    record_throttle(None)(1_000_000)


@pytest.mark.parametrize(
    ("separator", "null", "is_json"), (("", None, False), (":", None, True), (None, "-", True))
)
def test_contradicting_line_options_are_rejected(
    separator: str | None,
    null: str | None,
    is_json: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    with pytest.raises(typer.BadParameter):
        line_reader(separator, null, is_json=is_json)


@pytest.mark.parametrize(
    ("config", "is_idempotent"),
    (
        ({}, True),
        ({"acks": "all"}, True),
        ({"acks": "-1"}, True),
        ({"acks": "1"}, False),
        ({"acks": "0"}, False),
        ({"acks": "1", "enable.idempotence": True}, True),
        ({"enable.idempotence": False}, False),
    ),
    ids=str,
)
def test_acks_decide_whether_a_producer_is_idempotent(
    config: dict[str, object],
    is_idempotent: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    assert producer_config(config)["enable.idempotence"] is is_idempotent

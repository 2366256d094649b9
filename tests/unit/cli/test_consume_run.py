"""Records are read from the start position until a condition to stop."""

import signal

import pytest
import typer

from cordwood.cli import terminal
from cordwood.cli.consume_run import (
    StartPosition,
    ensure_group_start,
    line_writer,
    parse_start,
    parse_timestamp,
)
from cordwood.client.consumer.offset_fetcher import EARLIEST, LATEST
from tests.unit.cli.commands import Command

LINES = b"".join(b'{"value": "%d", "timestamp": %d, "partition": 0}\n' % (n, n) for n in range(5))


@pytest.fixture(autouse=True)
def _topic(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=2")
    command("produce", "a", "--json", stdin=LINES)


@pytest.mark.parametrize(
    ("where", "values"),
    (
        (("--from-beginning",), "01234"),
        (("--offset=earliest",), "01234"),
        (("--offset=3", "--partition=0"), "34"),
        (("--timestamp=2",), "234"),
        (("--timestamp=1970-01-01T00:00:00.004",), "4"),
        (("--from-beginning", "--partition=1"), ""),
        ((), ""),
    ),
    ids=str,
)
def test_reading_begins_at_the_start_position(
    command: Command, where: tuple[str, ...], values: str
) -> None:
    # Where records are expected, only their number ends the reading, however slow the machine is.
    until = ("--timeout-ms=300",) if not values else (f"--max-messages={len(values)}",)

    result = command("consume", "a", *where, *until)

    assert result.code == 0
    assert result.out == "".join(f"{each}\n" for each in values)


def test_offset_out_of_range_is_an_error(command: Command) -> None:
    result = command("consume", "a", "--offset=9", "--partition=0")

    assert result.code == 1
    assert "a-0" in result.err.splitlines()[-1]


def test_missing_partition_is_rejected(command: Command) -> None:
    result = command("consume", "a", "--partition=2")

    assert result.code == 1
    assert "topic 'a': has no partition 2 (it has 2)" in result.err


def test_ctrl_c_stops_after_read_records_are_printed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = terminal.write_output

    def write(data: bytes) -> bool:
        signal.raise_signal(signal.SIGINT)
        return real(data)

    monkeypatch.setattr(terminal, "write_output", write)

    result = command("consume", "a", "--from-beginning")

    assert result == (130, "0\n1\n2\n3\n4\n", "a: 5 records read\n")


def test_closed_pipe_is_a_success(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "write_output", lambda _data: False)

    assert command("consume", "a", "--from-beginning").code == 0


def test_records_lost_in_a_closed_pipe_are_not_committed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = ("consume", "a", "--group", "g", "--from-beginning", "--max-messages=5")
    with monkeypatch.context() as patched:
        patched.setattr(terminal, "write_output", lambda _data: False)
        command(*how)

    assert command(*how).out == "0\n1\n2\n3\n4\n"


def test_start_of_a_group_is_where_no_offset_is_committed() -> None:
    earliest = ensure_group_start(parse_start(None, None, from_beginning=True), ())
    latest = ensure_group_start(parse_start(None, None, from_beginning=False), ())

    assert earliest == StartPosition(offset_reset="earliest", is_of_group=True)
    assert latest == StartPosition(offset_reset=None, is_of_group=True)
    with pytest.raises(typer.BadParameter):
        ensure_group_start(StartPosition(EARLIEST), [0])


def test_start_is_a_name_a_number_or_a_time() -> None:
    assert parse_start(None, None, from_beginning=False) == StartPosition(LATEST)
    assert parse_start(None, None, from_beginning=True) == StartPosition(
        EARLIEST, offset_reset="earliest"
    )
    assert parse_start("7", None, from_beginning=False) == StartPosition(7)
    assert parse_start(None, "7", from_beginning=False) == StartPosition(timestamp_ms=7)


@pytest.mark.parametrize(
    ("offset", "timestamp", "from_beginning"),
    (("1", "1", False), ("1", None, True), ("-1", None, False), (None, "noon", False)),
)
def test_unusable_start_is_rejected(
    offset: str | None,
    timestamp: str | None,
    from_beginning: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    with pytest.raises(typer.BadParameter):
        parse_start(offset, timestamp, from_beginning=from_beginning)


def test_time_without_a_zone_is_in_utc() -> None:
    assert parse_timestamp("1970-01-01T00:00:01") == 1000
    assert parse_timestamp("1970-01-01T01:00:01+01:00") == 1000


def test_json_excludes_separators_and_markers() -> None:
    with pytest.raises(typer.BadParameter):
        line_writer(":", None, is_json=True)

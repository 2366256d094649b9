"""Lines arrive as records, and what did not arrive is told."""

import signal
from pathlib import Path

import pytest
import typer

from cordwood.cli import producing
from cordwood.cli.producing import reader, throttle_of
from tests.unit.cli.commands import Command


@pytest.fixture(autouse=True)
def _topic(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")


def values(command: Command, count: int) -> list[str]:
    said = command("consume", "a", "--from-beginning", f"--max-messages={count}")
    return said.out.splitlines()


def test_each_line_is_a_record(command: Command) -> None:
    command("produce", "a", stdin=b"x\n\nlast")

    assert values(command, 3) == ["x", "", "last"]


def test_file_is_read_instead_of_the_standard_input(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"x\ny\n")

    assert command("produce", "a", "--file", str(file)).err == "a: 2 records delivered\n"
    assert values(command, 2) == ["x", "y"]


def test_missing_file_is_out_of_reach(command: Command) -> None:
    said = command("produce", "a", "--file", "/nowhere")

    assert said.code == 3
    assert len(said.err.splitlines()) == 1


def test_line_that_is_no_record_ends_it_behind_what_came_before(command: Command) -> None:
    said = command("produce", "a", "--json", stdin=b'{"value": "x"}\nx\n{"value": "y"}\n')

    assert said.code == 1
    delivered, problem = said.err.splitlines()
    assert delivered == "a: 1 records delivered"
    assert problem.startswith("cordwood: line 2: no record as JSON")
    assert values(command, 1) == ["x"]


def test_record_that_the_broker_refuses_is_counted(command: Command) -> None:
    limit = ("--add-config", "max.message.bytes=100")
    command("configs", "alter", "--entity-type", "topics", "--entity-name", "a", *limit)

    said = command("produce", "a", stdin=b"x" * 200)

    assert said.code == 1
    assert said.err.startswith("a: 0 records delivered, 1 not: ")


def test_missing_topic_is_told_once_patience_is_over(command: Command) -> None:
    said = command("produce", "b", "--command-property", "max.block.ms=1", stdin=b"x\n")

    assert said.code in {1, 3}
    assert "b" in said.err.splitlines()[-1]


def test_ctrl_c_ends_it_once_all_that_was_sent_is_delivered(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_count: int) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(producing, "throttle_of", lambda _rate: interrupt)

    said = command("produce", "a", stdin=b"x\ny\n")

    assert said == (130, "", "a: 1 records delivered\n")
    assert values(command, 1) == ["x"]


def test_rate_is_kept_to(command: Command) -> None:
    assert command("produce", "a", "--rate=1000", stdin=b"x\ny\n").code == 0


def test_no_rate_is_no_waiting() -> None:
    throttle_of(None)(1_000_000)


@pytest.mark.parametrize(
    ("separator", "null", "is_json"), (("", None, False), (":", None, True), (None, "-", True))
)
def test_form_of_lines_that_makes_no_sense_is_refused(
    separator: str | None,
    null: str | None,
    is_json: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    with pytest.raises(typer.BadParameter):
        reader(separator, null, is_json=is_json)

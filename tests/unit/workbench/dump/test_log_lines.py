"""Logs and KRaft snapshots as text, up to the first damage."""

import pytest

from cordwood.core.errors import CordwoodError, CorruptMessageError, DamagedFileError
from cordwood.records.decoder import Selection
from cordwood.workbench.dump import log_lines
from cordwood.workbench.dump.coordinator_record_parser import OFFSETS_PARSER
from cordwood.workbench.dump.dump_log_segments import dump
from cordwood.workbench.dump.dump_options import DumpOptions
from tests.unit.records.segments import changed, legacy, marker
from tests.unit.workbench.dump_samples import FOLDER, LOG, batch, dump_of, outcome

DEEP = DumpOptions(folder=FOLDER, is_deep=True)


def lines(data: bytes, options: DumpOptions | None = None) -> tuple[list[str], str]:
    """Return the lines behind the two titles, and the text on the standard error."""
    out, err, error = outcome(dump(dump_of({LOG: data}, options), [LOG]))
    assert error is None
    return out.splitlines()[2:], err


def failure(name: str, data: bytes, options: DumpOptions | None = None) -> CordwoodError:
    error = outcome(dump(dump_of({name: data}, options), [name]))[2]
    assert error is not None
    return error


def test_dump_of_a_log_has_a_title_and_a_line_a_batch() -> None:
    out, err, _ = outcome(dump(dump_of({LOG: batch(0) + batch(2)}), [LOG]))

    first, second, *rest = out.splitlines()
    assert (first, second) == (f"Dumping {LOG}", "Log starting offset: 0")
    assert [line.partition(" ")[0] for line in rest] == ["baseOffset:", "baseOffset:"]
    assert err == ""


def test_deep_dump_has_a_line_a_record_of_every_kind() -> None:
    data = batch(0) + legacy(1, b"v", base_offset=2) + marker(3, 7, is_commit=True)

    assert [line.split()[0] for line in lines(data, DEEP)[0]] == [
        "baseOffset:", "|", "|", "offset:", "|", "baseOffset:", "|",
    ]  # fmt: skip


def test_gaps_are_reported_at_the_end() -> None:
    assert lines(batch(0) + batch(5), DEEP)[1] == (
        f"Non-consecutive offsets in /logs/{LOG}\n  1 is followed by 5\n"
    )


def test_trailing_bytes_are_counted() -> None:
    dump_run = dump_of({LOG: batch(0) + batch(2)[:-3]})

    out, _, _ = outcome(dump(dump_run, [LOG]))

    assert out.endswith(f"Found {len(batch(2)) - 3} invalid bytes at the end of {LOG}\n")
    assert dump_run.findings.is_wrong


def test_byte_limit_leaves_out_batches_above_it() -> None:
    options = DumpOptions(folder=FOLDER, max_bytes=len(batch(0)) + 5)

    assert len(lines(batch(0) + batch(2), options)[0]) == 1


def test_wrong_checksum_is_wrong() -> None:
    dump_run = dump_of({LOG: batch()[:-1] + b"\xff"})

    outcome(dump(dump_run, [LOG]))

    assert dump_run.findings.is_wrong


def test_lines_before_damage_are_written() -> None:
    data = batch(0) + changed(batch(2), 57, b"\0\0\0\3")

    out, _, error = outcome(dump(dump_of({LOG: data}, DEEP), [LOG]))

    assert out.count("| offset: ") == 4
    assert error is not None


def test_damage_ends_the_dump() -> None:
    assert isinstance(failure(LOG, batch(0) + b"\0" * 30), CorruptMessageError)
    assert "codec" in str(failure(LOG, changed(batch(), 21, b"\0\7")))


def test_selection_leaves_out_batches_and_records() -> None:
    options = DumpOptions(
        folder=FOLDER, is_deep=True, selection=Selection(first_offset=3, last_offset=4)
    )

    found, err = lines(b"".join(batch(2 * at) for at in range(4)), options)

    assert [line[:11] for line in found if line[0] == "|"] == ["| offset: 3", "| offset: 4"]
    assert err == ""


def test_text_is_returned_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "TEXT_BYTES", 100)

    assert len(list(dump(dump_of({LOG: batch(0) + batch(2)}), [LOG]))) == 5


@pytest.mark.parametrize(
    ("name", "title"),
    (
        ("bootstrap.checkpoint", "KRaft bootstrap snapshot"),
        ("00000000000000000100-0000000005.checkpoint", "Snapshot end offset: 100, epoch: 5"),
    ),
)
def test_kraft_snapshot_has_its_own_title(name: str, title: str) -> None:
    out, _, _ = outcome(dump(dump_of({name: batch()}), [name]))

    assert out.splitlines()[1] == title


@pytest.mark.parametrize("name", ("x.log", "1-2.checkpoint"))
def test_name_that_no_file_has_ends_the_dump(name: str) -> None:
    assert isinstance(failure(name, batch()), DamagedFileError)


def test_decoder_of_an_internal_topic_replaces_key_and_value() -> None:
    options = DumpOptions(folder=FOLDER, has_data=True, record_parser=OFFSETS_PARSER)

    out, _ = lines(batch(0), options)

    assert out[1].endswith(" key: Unknown record type 27440 at offset 0, skipping.")

"""Indexes, transactions and producers as text; indexes are compared with their log."""

import struct

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.workbench.dump.dump_log_segments import dump
from cordwood.workbench.dump.dump_options import DumpOptions
from tests.unit.records.segments import changed, legacy
from tests.unit.workbench.dump_samples import FOLDER, LOG, batch, dump_of, outcome

INDEX, TIMES, TXN, SNAPSHOT = (
    LOG.replace("log", end) for end in ("index", "timeindex", "txnindex", "snapshot")
)
ALL = b"".join(batch(2 * at, timestamp=1000 * at) for at in range(5))
SIZE = len(batch())


def index(*rows: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *row) for row in rows)


def times(*rows: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *row) for row in rows)


def output_of(
    name: str, options: DumpOptions | None = None, **others: bytes
) -> tuple[str, str, DamagedFileError | None]:
    """Return the output for one file of a segment, without its title."""
    contents = {f"{LOG[:-3]}{end}": data for end, data in others.items()}
    out, err, error = outcome(dump(dump_of(contents, options), [name]))
    assert error is None or isinstance(error, DamagedFileError)
    return out.partition("\n")[2], err, error


def test_index_has_a_line_an_entry() -> None:
    assert output_of(INDEX, log=ALL, index=index((3, SIZE), (9, 4 * SIZE)))[:2] == (
        f"offset: 3 position: {SIZE}\noffset: 9 position: {4 * SIZE}\n",
        "",
    )


def test_entry_with_a_wrong_offset_is_reported_at_the_end() -> None:
    assert output_of(INDEX, log=ALL, index=index((4, SIZE)))[1] == (
        f"Mismatches in :/logs/{INDEX}\n  Index offset: 4, log offset: 3\n"
    )


def test_index_that_is_only_verified_has_no_lines() -> None:
    verify = DumpOptions(folder=FOLDER, is_verify_only=True)

    assert output_of(INDEX, verify, log=ALL, index=index((3, SIZE)))[0] == ""
    assert output_of(TIMES, verify, log=ALL, index=b"", timeindex=times((1, 1)))[0] == ""


def test_empty_index_is_reported() -> None:
    assert output_of(INDEX, log=ALL, index=b"")[0] == f"{INDEX} is empty.\n"


def test_sane_index_is_reported() -> None:
    sane = DumpOptions(folder=FOLDER, is_sanity_only=True)

    assert (
        output_of(INDEX, sane, log=ALL, index=index((3, 0)))[0] == f"{INDEX} passed sanity check.\n"
    )
    assert output_of(TIMES, sane, log=ALL, index=b"", timeindex=b"")[0] == (
        f"{TIMES} passed sanity check.\n"
    )


@pytest.mark.parametrize("position", (-1, len(ALL) + 1, len(ALL)))
def test_entry_that_points_to_no_batch_ends_the_dump(position: int) -> None:
    out, _, error = output_of(INDEX, log=ALL, index=index((1, 0), (3, position)))

    assert out == "offset: 1 position: 0\n"
    assert error is not None


def test_entry_that_points_to_too_large_a_batch_ends_the_dump() -> None:
    small = DumpOptions(folder=FOLDER, max_message_size=SIZE - 1)

    assert output_of(INDEX, small, log=ALL, index=index((1, 0)))[2] is not None


def test_file_missing_next_to_an_index_is_named() -> None:
    with pytest.raises(FileNotFoundError):
        output_of(INDEX, index=b"")
    with pytest.raises(FileNotFoundError):
        output_of(INDEX, log=ALL)
    with pytest.raises(FileNotFoundError):
        output_of(TIMES, log=ALL, index=b"")


def test_time_index_has_a_line_an_entry() -> None:
    entries = times((1001, 3), (4001, 9))

    assert output_of(TIMES, log=ALL, index=index((3, SIZE)), timeindex=entries)[:2] == (
        "timestamp: 1001 offset: 3\ntimestamp: 4001 offset: 9\n",
        "",
    )


def test_contradicting_entries_are_reported_at_the_end() -> None:
    entries = times((1001, 3), (2000, 5), (2000, 5), (2001, 6), (9, 99))

    assert output_of(TIMES, log=ALL, index=b"", timeindex=entries)[1] == (
        f"Found timestamp mismatch in :/logs/{TIMES}\n"
        "  Index timestamp: 2000, log timestamp: 2001\n"
        "  Index timestamp: 2000, log timestamp: 2001\n"
        f"Found out of order timestamp in :/logs/{TIMES}\n"
        "  Index timestamp: 2000, Previously indexed timestamp: 2000\n"
        f"The following indexed offsets are not found in :/logs/{TIMES}\n"
        "Indexed offset: 6, found log offset: 7\nIndexed offset: 99, found log offset: -1\n"
    )


def test_time_is_compared_in_old_messages_too() -> None:
    old = legacy(1, b"a", base_offset=1)

    assert output_of(TIMES, log=old, index=b"", timeindex=times((1000, 1)))[1] == ""


def test_time_entry_is_compared_in_a_batch_that_only_the_dump_tool_accepts() -> None:
    odd = changed(batch(), 64, b"\x04")  # an offset delta out of order

    assert output_of(TIMES, log=odd, index=b"", timeindex=times((1001, 1)))[1] == ""


def test_index_that_leads_outside_the_log_ends_the_dump_of_times() -> None:
    outside = index((1, len(ALL) + 1))

    assert output_of(TIMES, log=ALL, index=outside, timeindex=times((1001, 3)))[2] is not None


def test_transactions_have_a_line_each() -> None:
    entry = struct.pack(">hqqqq", 0, 1, 0, 29, 8)

    assert output_of(TXN, txnindex=entry)[0].startswith("version: 0 producerId: 1 ")


def test_missing_transactions_are_none() -> None:
    assert output_of(TXN) == ("", "", None)


def test_producers_have_a_line_each_or_a_word() -> None:
    empty = bytes.fromhex("0001 48674bc7 00000000")

    assert output_of(SNAPSHOT, snapshot=empty)[:2] == ("", "")
    assert output_of(SNAPSHOT, snapshot=b"\0\2")[1].startswith("Snapshot failed schema validation")


def test_producer_of_a_snapshot_is_shown() -> None:
    data = bytes.fromhex(
        "0001 7b74335c 00000001 0000000000000007 0001 00000005 000000000000002a 00000000"
        "00000000000003e8 ffffffff ffffffffffffffff"
    )

    assert output_of(SNAPSHOT, snapshot=data)[0].startswith("producerId: 7 producerEpoch: 1 ")

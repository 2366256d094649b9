"""Two partition directories are compared."""

import json

import pytest

from cordwood.records.plain_decoder import PlainDecoder
from cordwood.storage.files.file_names import LOG
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.log_diff import LogDiff, diff_logs
from tests.unit.storage.log_samples import batch, marker

NAME = f"{0:020}{LOG}"


def diff(left: bytes, right: bytes, **checkpoint: str) -> LogDiff:
    """Return the difference of two logs; `checkpoint` has high watermarks by folder."""
    files = MemoryFiles()
    for folder, data in (("a", left), ("b", right)):
        for path in (f"/{folder}", f"/{folder}/t-0"):
            files.make_directory(path)
        files.create(f"/{folder}/t-0/{NAME}").append(data)
        if folder in checkpoint:
            text = f"0\n1\nt 0 {checkpoint[folder]}\n".encode()
            files.create(f"/{folder}/replication-offset-checkpoint").append(text)
    return diff_logs(files, "/a/t-0", b="/b/t-0", decoder=PlainDecoder())


def joined(*batches: bytes | bytearray) -> bytes:
    return b"".join(map(bytes, batches))


LOG_A = joined(batch(2), batch(2, at=2), batch(2, at=4))


def test_equal_logs_are_the_same() -> None:
    found = diff(LOG_A, LOG_A)

    assert found.is_same
    assert str(found).endswith("\nsame")


def test_other_batches_with_the_same_records_are_the_same() -> None:
    assert diff(LOG_A, joined(batch(6))).is_same


def test_offsets_of_one_log_alone_are_named() -> None:
    found = diff(LOG_A, joined(batch(2), batch(2, at=4)))

    assert (found.first_difference, found.only_a, found.only_b) == (2, ((2, 3),), ())
    assert "only in a: offsets 2 to 3" in str(found)


def test_shorter_log_differs_at_its_end() -> None:
    found = diff(joined(batch(2)), LOG_A)

    assert (found.first_difference, found.only_b) == (2, ((2, 5),))
    assert "another log end: 2 and 6" in str(found)


def test_changed_records_are_named() -> None:
    found = diff(LOG_A, joined(batch(2), batch(2, at=2, value=b"other"), batch(2, at=4)))

    assert (found.changed, found.only_a) == (((2, 3),), ())
    assert "another record: offsets 2 to 3" in str(found)


def test_leader_epochs_are_compared() -> None:
    found = diff(LOG_A, joined(batch(2), batch(2, at=2, epoch=7), batch(2, at=4)))

    assert (found.epochs, found.first_difference) == (((2, 3),), 2)
    assert not found.is_same


def test_markers_are_compared() -> None:
    commit, abort = bytes(marker(is_commit=True)), bytes(marker())

    assert diff(commit, commit).is_same
    assert diff(commit, abort).changed == ((0, 0),)
    assert diff(joined(commit, batch(1, at=1)), joined(commit)).only_a == ((1, 1),)


@pytest.mark.parametrize(("other", "is_same"), (("4", True), ("5", False)))
def test_high_watermarks_are_compared(other: str, *, is_same: bool) -> None:
    found = diff(LOG_A, LOG_A, a="4", b=other)

    assert found.is_same == is_same
    assert ("another high watermark: 4 and 5" in str(found)) != is_same


def test_damaged_batch_is_reported_as_unreadable() -> None:
    data = bytearray(LOG_A)
    data[70] ^= 1

    found = diff(LOG_A, bytes(data))

    assert not found.is_same
    assert "the checksum is wrong" in found.unreadable[0]


def test_difference_is_json() -> None:
    found = json.loads(diff(LOG_A, joined(batch(2))).to_json())

    assert (found["is_same"], found["only_a"], found["b"]["log_end"]) == (False, [[2, 5]], 2)

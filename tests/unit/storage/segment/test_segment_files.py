"""Files of a segment are written, renamed and removed together, or not at all."""

import errno

import pytest

from cordwood.storage.files.file_names import DELETED, LOG
from cordwood.storage.log.segment_recovery import has_clean_end
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import TornWriteError
from cordwood.storage.segment.transaction_index import ABORTED_TXN_SIZE, AbortedTxn
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.segment_samples import (
    DIRECTORY,
    append,
    created,
    marker,
    path,
    read,
    reopened,
    table,
    v2,
)

PREALLOCATED = LogConfig(preallocate=True, segment_bytes=2048, segment_index_bytes=1200)


def over(files: MemoryFiles, config: LogConfig | None = None) -> LogSegment:
    if config is None:
        return created(over=table(files))
    return created(over=table(files), config=config)


def names(files: MemoryFiles) -> list[str]:
    return [name.removeprefix("0" * 20) for name in files.list(DIRECTORY)]


def sizes(files: MemoryFiles) -> list[int]:
    return [files.stat(f"{DIRECTORY}/{name}").size for name in files.list(DIRECTORY)]


def test_path_has_twenty_digits_extension_and_suffix() -> None:
    assert path(42).of(LOG) == f"{DIRECTORY}/00000000000000000042.log"
    assert path(42, DELETED).of(LOG) == f"{DIRECTORY}/00000000000000000042.log.deleted"


def test_files_are_created_when_they_are_needed() -> None:
    files = MemoryFiles()

    segment = over(files)
    at_first = names(files)
    append(segment, v2(0))

    assert at_first == [".log"]
    assert names(files) == [".index", ".log", ".timeindex"]
    assert sizes(files) == [1200, len(v2(0)), 1200]


def test_files_get_another_suffix_together() -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0), marker(1, producer_id=5, is_commit=False))
    segment.append_aborted(AbortedTxn(5, 0, 1, 2))

    segment.change_suffix(DELETED)

    extensions = [".index", ".log", ".timeindex", ".txnindex"]
    assert names(files) == [f"{extension}.deleted" for extension in extensions]
    assert read(segment, 0, 10) == v2(0)[:10]
    segment.change_suffix("")
    assert names(files) == extensions


def test_missing_files_are_not_renamed() -> None:
    files = MemoryFiles()
    segment = over(files)

    segment.change_suffix(DELETED)
    append(segment, v2(0))

    assert names(files) == [".index.deleted", ".log.deleted", ".timeindex.deleted"]


def test_files_are_removed_together_and_repeatedly() -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0))

    segment.delete()
    segment.delete()

    assert names(files) == []


def test_files_are_found_in_a_directory_that_was_renamed() -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0), v2(1))
    segment.become_inactive()

    segment.files.open_files.forget_under(DIRECTORY)
    files.rename(DIRECTORY, "/t-0-delete")
    segment.set_directory("/t-0-delete")

    assert read(segment, 1) == v2(1)
    assert segment.paths()[0] == "/t-0-delete/00000000000000000000.log"
    assert segment.files.offset_index.last == (1, len(v2(0)))


def test_failed_append_to_the_log_leaves_no_bytes() -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0))
    files.script.add(FileFault(on="pwrite", path="*.log", kept=30))

    with pytest.raises(OSError, match="Input/output error"):
        append(segment, v2(1))
    append(segment, v2(1), v2(2))

    assert read(segment, 0) == v2(0) + v2(1) + v2(2)


@pytest.mark.parametrize("index", ("*.index", "*.timeindex"))
def test_failed_append_to_an_index_leaves_no_bytes(index: str) -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0))
    files.script.add(FileFault(on="pwrite", path=index))

    with pytest.raises(OSError, match="Input/output error"):
        append(segment, v2(1, timestamp=2000))
    before = (segment.size, segment.files.offset_entries.count, segment.latest.timestamp)
    append(segment, v2(1, timestamp=2000))

    assert before == (len(v2(0)), 0, 1000)
    assert read(segment, 0) == v2(0) + v2(1, timestamp=2000)
    assert segment.files.offset_index.last == (1, len(v2(0)))


@pytest.mark.parametrize("call", ("truncate", "preallocate"))
def test_failed_append_is_torn_when_it_cannot_be_truncated(call: str) -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0))
    files.script.add(FileFault(on="pwrite", path="*.timeindex", code=errno.ENOSPC))
    files.script.add(FileFault(on=call, path="*", code=errno.ENOSPC))

    with pytest.raises(TornWriteError, match="No space left"):
        append(segment, v2(1, timestamp=2000), v2(2))

    assert read(segment, 0) == v2(0)
    assert not has_clean_end(reopened(segment))


def test_append_to_a_full_disk_is_written_whole_or_not_at_all() -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0))
    files.capacity_bytes = files.used_bytes() + 10

    with pytest.raises(OSError, match="No space left"):
        append(segment, v2(1))
    files.capacity_bytes += 1000
    append(segment, v2(1))

    assert read(segment, 0) == v2(0) + v2(1)


def test_preallocated_log_is_large_until_it_is_done() -> None:
    files = MemoryFiles()
    segment = over(files, PREALLOCATED)
    log = segment.files.log_path

    append(segment, v2(0))
    append(segment, v2(1))
    while_open = files.stat(log).size
    segment.close()

    assert while_open == 2048
    assert files.stat(log).size == segment.size == 2 * len(v2(0))
    assert read(reopened(segment), 0) == v2(0) + v2(1)


def test_preallocated_log_is_truncated_when_a_write_is_torn() -> None:
    files = MemoryFiles()
    segment = over(files, PREALLOCATED)
    append(segment, v2(0))
    files.script.add(FileFault(on="pwrite", path="*.log", kept=30))

    with pytest.raises(OSError, match="Input/output error"):
        append(segment, v2(1))
    size = files.stat(segment.files.log_path).size
    append(segment, v2(1))

    assert size == len(v2(0))
    assert read(segment, 0) == v2(0) + v2(1)


def test_entries_are_truncated_in_all_indexes() -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0), v2(1, timestamp=2000), v2(2, timestamp=3000))
    segment.append_aborted(AbortedTxn(5, 0, 1, 2))
    segment.append_aborted(AbortedTxn(5, 2, 3, 4))

    cut = segment.files.cut(2, size=segment.size, removed=0)
    assert sizes(files)[-1] == 2 * ABORTED_TXN_SIZE
    cut.run(files)

    assert segment.files.offset_index.last == (1, len(v2(0)))
    assert segment.files.time_index.last == (2000, 1)
    assert segment.files.transaction_index.last == (5, 0, 1, 2)
    assert sizes(files)[-1] == ABORTED_TXN_SIZE


def test_entries_are_removed_from_all_indexes_after_a_reset() -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0), v2(1))
    segment.append_aborted(AbortedTxn(5, 0, 1, 2))

    segment.files.reset_indexes()

    assert names(files) == [".index", ".log", ".timeindex", ".txnindex"]
    assert sizes(files) == [1200, segment.size, 1200, 0]
    assert segment.files.offset_entries.count == segment.files.time_entries.count == 0


def test_files_are_opened_through_another_cache() -> None:
    files = MemoryFiles()
    segment = over(files)
    append(segment, v2(0))
    segment.become_inactive()
    other = table(files)

    segment.files.use_cache(other)
    segment.files.log()
    segment.files.offset_entries.read(0, 1)

    assert other.open_count == 2

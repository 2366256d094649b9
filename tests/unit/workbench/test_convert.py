"""A whole conversion: what is there afterwards, and what goes on where one was stopped."""

import pytest

from cordwood.core.errors import CorruptMessageError, LogDirectoryError, SettingError
from cordwood.records.compression import Codec
from cordwood.records.record import Record
from cordwood.records.stream import batches
from cordwood.storage.atomic import exists
from cordwood.storage.checkpoints import LOG_START_OFFSETS, read_offset_checkpoint
from cordwood.storage.reader_place import reader_of
from cordwood.storage.reader_transactions import ReaderTransactions
from cordwood.testing.faults import PowerLoss
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom
from cordwood.workbench.convert import WORK, begun, convert
from cordwood.workbench.convert_batches import Wanted
from cordwood.workbench.convert_segment import ConvertTools
from cordwood.workbench.verify import verify
from tests.unit.storage.log_samples import PARTITION
from tests.unit.workbench.convert_samples import log_directory

BY_ZSTD = Wanted(codec=Codec.ZSTD)


def converted(
    files: MemoryFiles, wanted: Wanted = BY_ZSTD, *, path: str = "/d", seed: int = 7
) -> str:
    tools = ConvertTools(files, SeededRandom(seed))
    return str(convert(tools, [path], out="/new", wanted=wanted))


def records_in(files: MemoryFiles, path: str) -> list[Record]:
    runs = [bytes(run.data) for run in reader_of(files, path).buffers()]
    return [record for run in runs for each in batches(run) for record in each.records()]


def tree(files: MemoryFiles, path: str = "/new") -> dict[str, bytes]:
    """Return the files below a path, with what is in them."""
    found: dict[str, bytes] = {}
    for name in files.list(path) if exists(files, path) else ():
        below = f"{path}/{name}"
        if files.stat(below).is_directory:
            found |= tree(files, below)
        else:
            file = files.open(below)
            found[below] = file.pread(file.size, 0)
    return found


def test_converted_log_has_the_same_records_and_transactions() -> None:
    files = log_directory()

    report = converted(files)

    assert report.startswith("/new: t-0: ")
    assert records_in(files, "/new/t-0") == records_in(files, "/d/t-0")
    before, after = (ReaderTransactions(reader_of(files, path)) for path in ("/d/t-0", "/new/t-0"))
    assert after.aborted_between(0, 90) == before.aborted_between(0, 90) != ()


def test_converted_log_is_found_in_order() -> None:
    files = log_directory()

    converted(files)

    found = verify(files, ["/new"])
    assert [str(each) for each in found.all_findings] == []
    assert (found.partitions[0].log_end, found.partitions[0].segments) == (90, 3)
    assert WORK not in files.list("/new")
    assert ".kafka_cleanshutdown" in files.list("/new")


def test_start_that_no_segment_tells_is_checkpointed() -> None:
    files = log_directory()
    path = f"/d/{LOG_START_OFFSETS}"
    files.create(path).append(b"0\n1\nt 0 3\n")

    converted(files)

    assert read_offset_checkpoint(files, f"/new/{LOG_START_OFFSETS}") == {PARTITION: 3}


def test_conversion_may_stop_at_any_change_and_go_on() -> None:
    whole = log_directory()
    converted(whole)
    is_over, changes = False, 0
    while not is_over:
        files = log_directory()
        files.script.stop_after(changes)
        try:
            converted(files)
            is_over = True
        except PowerLoss:
            files = files.after_crash(range(len(files.pending())))
        files.script.reset()
        if tree(files) != tree(whole):
            converted(files, seed=8)
        assert tree(files) == tree(whole), f"stopped after {changes} changes"
        changes += 11

    assert changes > 100


def test_conversion_under_way_is_not_another_one() -> None:
    files = log_directory()
    with begun(files, ["/d"], out="/new", wanted=BY_ZSTD):
        pass

    with pytest.raises(LogDirectoryError, match="has a conversion under way of /d"):
        converted(files, Wanted(codec=Codec.GZIP))


def test_damage_is_named_and_converts_nothing() -> None:
    files = log_directory()
    name = f"/d/t-0/{0:020}.log"
    files.open(name, writable=True).pwrite(b"\xff", 100)

    with pytest.raises(CorruptMessageError, match=rf"{name}: the checksum is wrong"):
        converted(files)

    assert "t-0" not in files.list("/new")


@pytest.mark.parametrize(
    ("path", "error", "words"),
    (
        (f"/d/t-0/{0:020}.log", SettingError, "a single segment is no log"),
        ("/odd", LogDirectoryError, "does not say which partition"),
    ),
)
def test_what_is_no_log_is_refused(path: str, error: type[Exception], words: str) -> None:
    files = log_directory()
    files.make_directory("/odd")
    files.create(f"/odd/{0:020}.log")

    with pytest.raises(error, match=words):
        converted(files, path=path)


def test_partition_that_is_there_already_is_refused() -> None:
    files = log_directory()
    converted(files)

    with pytest.raises(LogDirectoryError, match="would have t-0 twice"):
        converted(files)

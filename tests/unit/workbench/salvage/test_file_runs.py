"""A file in order is read once, batch by batch; any other one as a whole."""

import pytest

from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry, LeaderEpochCache
from cordwood.workbench.salvage import file_runs
from cordwood.workbench.salvage.batch_run import SourceWindows
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.file_runs import FileReader, FileRuns
from cordwood.workbench.salvage.source_directory import SideFileFacts
from tests.unit.workbench.dump_samples import FOLDER, files_of
from tests.unit.workbench.salvage_samples import batch, cleaned_batch, harmed

BOUNDS = FileBounds(0, 12)


def reader_of(
    *files: bytes, foreign: tuple[str, ...] = (), epochs: tuple[EpochEntry, ...] = ()
) -> FileReader:
    """Return a reader of files with the names 0, 1, ..."""
    contents = {str(at): data for at, data in enumerate(files)}
    cache = LeaderEpochCache(epochs)
    known = SideFileFacts(0, 0, 0, frozenset({0}), 0, cache, (), is_brokers=True, notes=())
    windows = SourceWindows(files_of(contents))
    return FileReader(windows, known, checker=PlainBatchChecker(), foreign=foreign)


def path(number: int) -> str:
    return f"{FOLDER}/{number}"


def read(
    data: bytes, bounds: FileBounds = BOUNDS, *, epochs: tuple[EpochEntry, ...] = ()
) -> FileRuns:
    return reader_of(data, epochs=epochs).read(path(0), bounds)


@pytest.fixture
def _one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a file is read a second time."""

    def build_chain(*_: object, **__: object) -> None:
        raise AssertionError("the file is not in order")

    monkeypatch.setattr(file_runs, "build_chain", build_chain)


@pytest.mark.usefixtures("_one_pass")
@pytest.mark.parametrize(
    ("data", "bounds"),
    (
        (b"", FileBounds()),
        (batch(0) + batch(4), FileBounds()),
        (batch(0) + batch(4), FileBounds(0)),
        (batch(0) + batch(8), BOUNDS),
        (batch(0) + batch(8), FileBounds(0, None, frozenset({12}))),
        (batch(0, epoch=1) + batch(4, epoch=3), FileBounds(0, epochs=(1, 3))),
        (cleaned_batch(0) + batch(9), FileBounds(0, 20)),
    ),
)
def test_file_in_order_is_read_once(data: bytes, bounds: FileBounds) -> None:
    found = read(data, bounds)

    assert (found.strays, found.misfits, found.damages) == ([], [], [])
    assert sum(each.size for each in found.within) == len(data)


@pytest.mark.usefixtures("_one_pass")
@pytest.mark.parametrize(
    ("data", "bounds"),
    (
        (batch(4) + batch(0), BOUNDS),
        (batch(0) + batch(8), FileBounds(0)),
        (batch(0) + batch(9), BOUNDS),
        (batch(1), FileBounds(4, 12)),
        (batch(0) + batch(1 << 40), FileBounds(0)),
        (batch(0) + harmed(batch(4), 70), BOUNDS),
        (batch(0) + b"\1" * 9, BOUNDS),
        (batch(0, epoch=3) + batch(4, epoch=2), BOUNDS),
        (batch(0, epoch=3), FileBounds(0, 4, epochs=(4, 5))),
        (batch(0, epoch=6), FileBounds(0, 4, epochs=(4, 5))),
    ),
)
def test_file_out_of_order_is_read_as_a_whole(data: bytes, bounds: FileBounds) -> None:
    with pytest.raises(AssertionError, match="not in order"):
        read(data, bounds)


@pytest.mark.usefixtures("_one_pass")
def test_epochs_of_the_checkpoint_count_before_those_around_the_file() -> None:
    epochs = (EpochEntry(LeaderEpoch(3), Offset(0)),)

    assert read(batch(0, epoch=3), FileBounds(0, 4, epochs=(9, 9)), epochs=epochs).epoch == 3
    with pytest.raises(AssertionError, match="not in order"):
        read(batch(0, epoch=4), FileBounds(0, 4), epochs=epochs)


def test_file_of_another_replica_has_only_strays() -> None:
    reader = reader_of(batch(0), b"\1" + batch(0), foreign=(path(0), path(1)))

    for number in (0, 1):
        found = reader.read(path(number), FileBounds())

        assert (found.within, found.end) == ([], 4)
        assert [run.first for runs in found.strays for run in runs] == [0]


def test_copy_of_a_batch_that_got_another_offset_gets_it_too() -> None:
    wrong = harmed(batch(4), 7, mask=0x40)
    reader = reader_of(batch(0) + wrong + batch(8), wrong)
    reader.read(path(0), BOUNDS)

    (_, (copy,)) = reader.read(path(1), FileBounds()).strays

    assert (copy.first, copy.last) == (4, 7)


def test_tail_of_a_file_is_what_reaches_behind_an_offset() -> None:
    found = reader_of(batch(0) + batch(4) + batch(8)).read(path(0), BOUNDS, start=5)

    assert [(each.first, each.last) for each in found.within] == [(4, 11)]

"""Healthy partitions verify; a flipped bit is found, in its own file.

A log is a random life of producers, transactions and segments.
"""

from hypothesis import assume, given
from hypothesis import strategies as st

from cordwood.records.batch_checks import BatchChecker, PlainBatchChecker
from cordwood.records.kernels.batch_checks import KernelBatchChecker
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.verify.findings import VerifiedPartition
from cordwood.workbench.verify.verify import verify
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, batch, lead, marker, produced
from tests.unit.storage.reader_samples import got, harm

SWEEPERS: tuple[BatchChecker, ...] = (PlainBatchChecker(), KernelBatchChecker())
STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.booleans()), min_size=8)


@st.composite
def partitions(draw: st.DrawFn) -> MemoryFiles:
    """Return the files of a log; closed, or as a process that was killed leaves them."""
    place = LogHarness()
    config = LogConfig(
        segment_bytes=draw(st.sampled_from((400, 900))),
        segment_index_bytes=1200,
        index_interval_bytes=draw(st.sampled_from((0, 150))),
    )
    log = place.open(config)
    sequences: dict[int, int] = {}
    for who, count, is_end in draw(STEPS):
        if who < 2:
            lead(log, batch(count, epoch=0))
        elif is_end and who == 3 and sequences.get(3):
            lead(log, marker(is_commit=count > 2, producer=(3, 0)), origin=AppendOrigin.COORDINATOR)
        else:
            first = sequences.get(who, 0)
            sequences[who] = first + count
            lead(log, produced(first, count, producer=(who, 0), is_transactional=who == 3))
    log.set_high_watermark(log.bounds.log_end)
    if draw(st.booleans()):
        log.close()
    return place.files


def verified(files: MemoryFiles) -> VerifiedPartition:
    """Return what both sweepers find."""
    plain, kernel = (verify(files, [DIRECTORY], checker=each) for each in SWEEPERS)
    assert plain == kernel
    return plain.partitions[0]


@given(partitions())
def test_healthy_partition_has_no_findings(files: MemoryFiles) -> None:
    found = verified(files)

    assert found.findings == ()


@given(partitions(), st.data())
def test_flipped_bit_is_found_in_its_file(files: MemoryFiles, data: st.DataObject) -> None:
    bases = [name for name in files.list(DIRECTORY) if name.endswith(".log")]
    endings = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    inactive = [
        name
        for name in files.list(DIRECTORY)
        if name.endswith(endings) and name[:20] < bases[-1][:20] and got(files, name)
    ]
    assume(inactive)
    name = data.draw(st.sampled_from(inactive))
    at = data.draw(st.integers(0, len(got(files, name)) - 1))
    before = got(files, name)[at]
    after = before ^ 1 << data.draw(st.integers(0, 7))
    harm(files, name, at, bytes([after]))

    found = verified(files)

    if not is_free(name, at, is_raised=after > before):
        assert name in {each.path.rpartition("/")[2] for each in found.findings}


def is_free(name: str, at: int, *, is_raised: bool) -> bool:
    """Whether nothing vouches for a byte.

    Kafka skips the second one of an abort's version. An offset entry that names the end of a later
    batch is what brokers before 4.1 wrote; lookups only begin earlier by it. A time entry may name
    any record of its batch.
    """
    if name.endswith(".timeindex"):
        return at % 12 == 11
    if name.endswith(".txnindex"):
        return at % 34 == 1
    return name.endswith(".index") and at % 8 < 4 and is_raised


@given(partitions(), st.data())
def test_lost_end_of_an_inactive_segment_is_found(files: MemoryFiles, data: st.DataObject) -> None:
    logs = [name for name in files.list(DIRECTORY) if name.endswith(".log")]
    assume(len(logs) > 1)
    name = data.draw(st.sampled_from(logs[:-1]))
    size = len(got(files, name))
    files.open(f"{DIRECTORY}/{name}", writable=True).truncate(data.draw(st.integers(1, size - 1)))

    assert verified(files).is_damaged

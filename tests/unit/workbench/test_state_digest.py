"""The digest of states: equal to a plain one, and another one for each changed outcome."""

import struct
from hashlib import sha256

import pytest

from cordwood.records.batch_builder import emptied
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from cordwood.records.kernels.state_scan import KernelStateScanner
from cordwood.records.record_batch import RecordBatch
from cordwood.records.state_scan import PlainStateScanner, StateScanner
from cordwood.workbench.record_digest import RecordDigest, RecordReaders, digest_records
from cordwood.workbench.state_digest import StateDigest
from tests.unit.compaction.compaction_samples import batch, marker, sent, with_horizon
from tests.unit.storage.reader_samples import directory, reader
from tests.unit.workbench.compact_samples import PLAIN_READERS

KERNELS = RecordReaders(KernelDecoder(), KernelStateScanner())

DATA = batch(0, "a1 b1") + sent(2, "c1 d1", producer=7, sequence=4) + batch(4, "e1")
LOG = DATA + marker(5, producer=7, is_commit=True) + sent(6, "f1", producer=8)
END = marker(7, producer=8, is_commit=False)
#: Offset, producer id, epoch, sequence, whether it is in a transaction.
ROWS = (
    (0, -1, -1, -1, 0),
    (1, -1, -1, -1, 0),
    (2, 7, 0, 4, 1),
    (3, 7, 0, 5, 1),
    (4, -1, -1, -1, 0),
    (6, 8, 0, 0, 1),
)
MARKERS = ((5, 7, 0, 1, 0), (7, 8, 0, 0, 0))


def digest(log: bytes, *, end: int = 7, readers: RecordReaders = PLAIN_READERS) -> RecordDigest:
    found = reader(directory(log=log))
    return digest_records(found, start=0, end=end, readers=readers)


def plain_digest() -> str:
    """Return the digest as the module describes it, row by row."""
    columns = [
        b"".join(struct.pack(f"<{code}", value) for value in column)
        for code, column in zip("qqhib", zip(*ROWS, strict=True), strict=True)
    ]
    columns.append(b"".join(struct.pack("<qqhhi", *each) for each in MARKERS))
    return sha256(b"".join(sha256(each).digest() for each in columns)).hexdigest()


@pytest.mark.parametrize("readers", (PLAIN_READERS, KERNELS), ids=("plain", "kernels"))
def test_digest_is_that_of_its_streams(readers: RecordReaders) -> None:
    found = digest(LOG + END, readers=readers)

    assert (found.states_sha256, found.markers) == (plain_digest(), 1)


def test_digest_does_not_depend_on_batches() -> None:
    apart = sent(2, "c1", producer=7, sequence=4) + sent(3, "d1", producer=7, sequence=5)
    first = batch(0, "a1") + batch(1, "b1")

    found = digest(first + apart + (LOG + END)[len(DATA) - len(batch(4, "e1")) :])

    assert found.states_sha256 == plain_digest()


@pytest.mark.parametrize(
    "log",
    (
        LOG,
        LOG + marker(7, producer=8, is_commit=True),
        DATA + sent(6, "f1", producer=8) + END,
        DATA + marker(5, producer=7, is_commit=False) + sent(6, "f1", producer=8) + END,
        DATA + marker(5, producer=7, is_commit=True, epoch=1) + sent(6, "f1", producer=8) + END,
        LOG.replace(DATA, DATA.replace(batch(4, "e1"), sent(4, "e1", producer=9))) + END,
        LOG.replace(sent(6, "f1", producer=8), sent(6, "f1", producer=6)) + END,
        LOG.replace(sent(6, "f1", producer=8), sent(6, "f1", producer=8, sequence=1)) + END,
        DATA
        + marker(5, producer=7, is_commit=True)
        + sent(6, "f1", producer=8, is_transactional=False)
        + END,
    ),
    ids=(
        *("open", "committed", "without its marker", "aborted", "epoch of a marker"),
        *("in a transaction", "producer", "sequence", "in no transaction"),
    ),
)
def test_digest_differs_for_other_states(log: bytes) -> None:
    found = digest(log)

    assert found.sha256 == digest(LOG + END).sha256
    assert found.states_sha256 != plain_digest()


def test_markers_behind_the_range_count_once_if_they_end_its_transactions() -> None:
    others = marker(8, producer=7, is_commit=False) + marker(9, producer=8, is_commit=True)

    assert digest(LOG + END + others).states_sha256 == plain_digest()


@pytest.mark.parametrize("readers", (PLAIN_READERS, KERNELS), ids=("plain", "kernels"))
def test_first_marker_behind_the_range_counts_if_its_producer_goes_on(
    readers: RecordReaders,
) -> None:
    next_one = sent(8, "g1", producer=8)

    found = digest(LOG + END + next_one, readers=readers)

    assert found.states_sha256 == plain_digest()


@pytest.mark.parametrize("readers", (PLAIN_READERS, KERNELS), ids=("plain", "kernels"))
def test_transactions_end_in_any_later_run_behind_the_range(readers: RecordReaders) -> None:
    many = b"".join(sent(at, "z" * 9000 + "1", producer=9) for at in range(8, 140))
    between = many + marker(140, producer=9, is_commit=True)
    end, late = marker(7, producer=8, is_commit=False), marker(141, producer=8, is_commit=False)

    far, near = digest(LOG + between + late, readers=readers), digest(LOG + end, readers=readers)

    assert far.markers == near.markers == 1
    assert far.states_sha256 != near.states_sha256
    assert far.states_sha256 == digest(LOG + late, readers=readers).states_sha256


def test_marker_with_a_delete_horizon_is_the_same_marker() -> None:
    found = digest(LOG + with_horizon(END), end=8)

    assert (found.states_sha256, found.markers) == (plain_digest(), 2)


def test_emptied_batches_have_no_state() -> None:
    empty = emptied(RecordBatch(marker(7, producer=9, is_commit=False)))
    data = emptied(RecordBatch(sent(8, "g1", producer=10)))

    found, expected = digest(LOG + bytes(empty + data), end=9), digest(LOG, end=7)

    assert (found.states_sha256, found.markers) == (expected.states_sha256, 1)


@pytest.mark.parametrize("scanner", (PlainStateScanner(), KernelStateScanner()))
def test_run_that_comes_again_counts_once(scanner: StateScanner) -> None:
    (run,) = reader(directory(log=LOG + END)).buffers(0, 7)
    once, twice = StateDigest(0, 7, scanner), StateDigest(0, 7, scanner)

    for states in (once, twice, twice):
        states.add_run(run)

    log = reader(directory(log=LOG + END))
    assert once.finish(log) == twice.finish(log)

"""Statistics of logs."""

import json

from cordwood.records.batch_builder import BatchFields, empty_batch
from cordwood.records.compression import Codec
from cordwood.records.kernels.batch_checks import KernelBatchChecker
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.log_statistics import LARGEST, LogStatistics
from cordwood.workbench.stat import stat
from tests.unit.records.segments import legacy
from tests.unit.records.test_batch_checks import keyed
from tests.unit.storage.log_samples import DIRECTORY, marker, produced
from tests.unit.storage.reader_samples import directory, name
from tests.unit.storage.segment_samples import v2
from tests.unit.workbench.verified import healthy


def sums(log: bytes, *, is_deep: bool = False) -> LogStatistics:
    return stat(directory(log=log), [DIRECTORY], is_deep=is_deep).total


def test_stat_counts_a_healthy_log() -> None:
    found = stat(healthy(), [DIRECTORY], checker=KernelBatchChecker()).partitions[0]

    assert (found.segments, found.batches, found.records) == (8, 39, 110)
    assert (found.partition, found.formats, found.producers) == ("t-0", {"v2": 39}, 4)
    assert found.codecs["none"].size == found.size
    assert (found.transactions_committed, found.transactions_aborted) == (2, 2)
    assert (found.transactions_open, found.skipped_bytes, found.deep) == (0, 0, None)
    assert [each.size for each in found.largest] == sorted(
        (each.size for each in found.largest), reverse=True
    )
    assert len(found.largest) == LARGEST


def test_stat_counts_open_transactions() -> None:
    log = b"".join(
        (
            produced(0, 1, is_transactional=True),
            produced(0, 1, at=1, producer=(2, 0), is_transactional=True),
            marker(at=2),
        )
    )

    found = sums(log)

    assert (found.transactions_open, found.transactions_aborted, found.producers) == (1, 1, 2)


def test_batch_without_a_valid_marker_ends_no_transaction() -> None:
    torn = bytearray(marker(at=1))
    torn[-8:] = b"\xee" * 8

    found = sums(bytes(produced(0, 1, is_transactional=True) + torn))

    assert (found.transactions_open, found.control_batches) == (1, 1)


def test_stat_counts_bytes_that_are_not_batches() -> None:
    found = sums(v2(0) + bytes(7) + b"\xee" * 100)

    assert (found.batches, found.skipped_bytes) == (1, 107)
    assert "not batches: 107 bytes" in str(found)


def test_stat_opens_wrappers_when_it_is_deep() -> None:
    log = legacy(1, b"a", b"b", codec=Codec.GZIP)

    assert (sums(log).unopened_wrappers, sums(log).records) == (1, 0)
    assert (sums(log, is_deep=True).unopened_wrappers, sums(log, is_deep=True).records) == (0, 2)
    assert "not opened: 1 wrapper" in str(sums(log))


def test_deep_stat_reads_records() -> None:
    deep = sums(keyed(0) + keyed(2, codec=Codec.LZ4), is_deep=True).deep

    assert deep is not None
    assert (deep.keyless, deep.tombstones, deep.key_bytes, deep.value_bytes) == (2, 2, 6, 10)
    assert deep.unpacked_size == 2 * len(keyed(0))
    assert "2 without key" in str(sums(keyed(0) + keyed(2), is_deep=True))


def test_empty_log_has_no_times() -> None:
    found = sums(b"", is_deep=True)

    assert (found.earliest_ms, found.latest_ms) == (-1, -1)
    assert found.deep is not None
    assert found.deep.ratio == 1
    assert "no times" in str(found)


def test_stat_without_partitions_is_one_line() -> None:
    files = MemoryFiles()
    files.make_directory("/logs")
    files.create("/logs/meta.properties")

    assert str(stat(files, ["/logs"])) == "no partitions"


def test_total_is_of_all_partitions() -> None:
    files = directory(log=v2(0), log_1=v2(1))

    found = stat(files, [DIRECTORY, f"{DIRECTORY}/{name(1)}"])

    assert [each.batches for each in (*found.partitions, found.total)] == [2, 1, 3]
    assert (found.total.segments, len(found.total.largest)) == (3, 3)
    assert found.details().count("batches:") == 3


def test_stat_is_json() -> None:
    found = stat(healthy(), ["/d"])

    total = json.loads(found.to_json())["total"]
    assert total["codecs"]["none"]["batches"] == 39
    assert json.loads(found.total.to_json()) == total
    assert total["largest"][0]["size"] == found.total.largest[0].size


def test_control_batch_without_a_marker_ends_no_transaction() -> None:
    fields = BatchFields(producer_id=1, producer_epoch=0, is_control=True)

    found = sums(bytes(empty_batch(fields, last_offset=0, max_timestamp=1)))

    assert (found.control_batches, found.transactions_committed) == (1, 0)

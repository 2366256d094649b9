"""The digest of records: equal to a plain one, in any batches, with either decoder."""

import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from hashlib import sha256
from typing import TypeVar

import pytest

from cordwood.core.ports import Lane
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from cordwood.records.kernels.state_scan import KernelStateScanner
from cordwood.testing.inline_worker import InlineWorker
from cordwood.workbench.record_digest import STREAMS, RecordReaders, digest_records
from tests.serving import ROOT
from tests.unit.compaction.compaction_samples import marker
from tests.unit.storage.reader_samples import directory, reader
from tests.unit.workbench.compact_samples import PLAIN_READERS

T = TypeVar("T")

KERNELS = RecordReaders(KernelDecoder(), KernelStateScanner())

ROWS = (
    (0, 10, b"a", b"1", ()),
    (1, 11, None, b"", (("h", b"x"), ("i", None))),
    (2, 12, b"", None, ()),
    (5, 9, b"long key", b"v" * 300, (("", b""),)),
)


def batches(*splits: int, codec: Codec = Codec.NONE) -> bytes:
    """Return the rows in batches that begin at these rows."""
    out = b""
    for start, end in zip((0, *splits), (*splits, len(ROWS)), strict=True):
        builder = BatchBuilder(BatchFields(base_offset=ROWS[start][0], codec=codec))
        for offset, time, key, value, headers in ROWS[start:end]:
            builder.append(key, value, timestamp=time, headers=headers, offset=offset)
        out += bytes(builder.build())
    return out


def plain_digest() -> str:
    """Return the digest as the module describes it, row by row."""
    streams = [b""] * STREAMS
    for offset, time, key, value, headers in ROWS:
        streams[0] += struct.pack("<q", offset)
        streams[1] += struct.pack("<q", time)
        for at, data in ((2, key), (4, value)):
            streams[at] += struct.pack("<i", -1 if data is None else len(data))
            streams[at + 1] += data or b""
        streams[6] += struct.pack("<i", len(headers))
        for name, data in headers:
            streams[7] += struct.pack("<i", len(name))
            streams[8] += name.encode()
            streams[9] += struct.pack("<i", -1 if data is None else len(data))
            streams[10] += data or b""
    return sha256(b"".join(sha256(each).digest() for each in streams)).hexdigest()


@pytest.mark.parametrize("readers", (PLAIN_READERS, KERNELS), ids=("plain", "kernels"))
@pytest.mark.parametrize("splits", ((), (2,), (1, 2, 3)))
@pytest.mark.parametrize("codec", (Codec.NONE, Codec.ZSTD))
def test_digest_does_not_depend_on_batches(
    readers: RecordReaders, splits: tuple[int, ...], codec: Codec
) -> None:
    files = directory(log=batches(*splits, codec=codec) + marker(6, is_commit=False))

    found = digest_records(reader(files), start=0, end=7, readers=readers)

    assert (found.sha256, found.records, found.tombstones) == (plain_digest(), 4, 1)


def test_digest_ends_before_its_end() -> None:
    whole, part = (
        digest_records(reader(directory(log=batches())), start=0, end=end, readers=PLAIN_READERS)
        for end in (6, 5)
    )

    assert (whole.records, part.records) == (4, 3)
    assert whole.sha256 != part.sha256


class LateWorker(InlineWorker):
    """A worker whose calls run when their result is awaited, as late as they can."""

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        return _LateCall(call)


class _LateCall(Future[T]):
    def __init__(self, call: Callable[[], T]) -> None:
        super().__init__()
        self._call = call

    def result(self, timeout: float | None = None) -> T:
        if not self.done():
            self.set_result(self._call())
        return super().result(timeout)


@pytest.mark.parametrize("readers", (PLAIN_READERS, KERNELS), ids=("plain", "kernels"))
def test_worker_may_be_late_with_the_digest(readers: RecordReaders) -> None:
    builders = [BatchBuilder(BatchFields(base_offset=each)) for each in range(12)]
    for each, builder in enumerate(builders):
        builder.append(b"key", bytes([each]) * 1_000_000, timestamp=each, offset=each)
    files = directory(log=b"".join(bytes(each.build()) for each in builders))

    expected, late = (
        digest_records(reader(files), start=0, end=12, readers=readers._replace(worker=worker))
        for worker in (None, LateWorker())
    )

    assert late == expected
    assert late.records == 12


def test_digest_of_no_records_is_that_of_empty_streams() -> None:
    found = digest_records(reader(directory(log=b"")), start=0, end=0, readers=PLAIN_READERS)

    assert found.sha256 == sha256(sha256().digest() * STREAMS).hexdigest()


def test_digest_does_not_import_arrow() -> None:
    code = """
import sys
from tests.unit.workbench.test_record_digest import *
digest_records(reader(directory(log=batches())), start=0, end=6, readers=KERNELS)
print("pyarrow" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )

    assert done.stdout == "False\n"

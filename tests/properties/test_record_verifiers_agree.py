"""The record verifier with kernels returns the results of the plain one, per batch and in total.

Input and output are drawn separately: mostly a subset, now and then another batch, so that right
and wrong both occur. Memory is short at times, and keys repeat.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.kernels.kernel_record_verifier import KernelRecordVerifier
from cordwood.compaction.proof.batch_reader import LocatedBatch, SegmentFile
from cordwood.compaction.proof.key_checks import KeyScope, KeysFullError, LostRecord
from cordwood.compaction.proof.record_checks import (
    BatchVerdict,
    RecordCounts,
    RecordVerifiers,
    plain_record_verifier,
)
from cordwood.compaction.proof.violations import Violation, Violations
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_header import read_header
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.record_batch import MAGIC
from tests.properties.test_compaction_is_a_dictionary import CompactionMachine
from tests.unit.compaction.compaction_samples import plan

KEYS = (None, b"", b"a", b"bb", b"c" * 9, b"d" * 40, b"e" * 300)
VALUES = (None, b"", b"v", b"w" * 90)
TIMES = (-1, 5, 1_700_000_000_000, (1 << 63) - 1)
HEADERS = ((), (), (("h", None),), (("a", b"1"), ("b", b"x" * 70)))
LARGEST = 1 << 20


class Drawn(NamedTuple):
    """A record; of 30 fates the first is to go, and the last is to come back as another."""

    key: bytes | None
    value: bytes | None
    time: int
    headers: tuple[tuple[str, bytes | None], ...]
    step: int
    fate: int


class DrawnBatch(NamedTuple):
    """A batch, and how it is left."""

    records: list[Drawn]
    ruling: BatchVerdict
    codec: Codec
    stamp: int | None
    horizon: int | None
    is_old: bool
    is_left_whole: bool


@dataclass(frozen=True)
class Lived:
    """A batch as it was, what is left of it, and what counts for it."""

    before: bytes
    after: bytes | None
    ruling: BatchVerdict


records = st.builds(
    Drawn,
    st.sampled_from(KEYS),
    st.sampled_from(VALUES),
    st.sampled_from(TIMES),
    st.sampled_from(HEADERS),
    st.integers(1, 3),
    st.integers(0, 29),
)
batches = st.builds(
    DrawnBatch,
    st.lists(records, max_size=6),
    st.builds(BatchVerdict, st.booleans(), st.booleans()),
    st.sampled_from(Codec),
    st.sampled_from((None, None, 7)),
    st.sampled_from((None, None, 900)),
    st.integers(0, 9).map(lambda drawn: drawn == 0),
    st.booleans(),
)
lives = st.lists(batches, max_size=8)
scopes = st.sampled_from((KeyScope(), KeyScope(5), *KeyScope(7).halves(), KeyScope(9, 16, 3)))


def lived(drawn: list[DrawnBatch]) -> list[Lived]:
    """Return batches that follow each other."""
    found, offset = [], 0
    for batch in drawn:
        fields = BatchFields(base_offset=offset, codec=batch.codec, log_append_time_ms=batch.stamp)
        before = BatchBuilder(fields)
        after = BatchBuilder(fields._replace(delete_horizon_ms=batch.horizon))
        old = LegacyBuilder(1, base_offset=offset)
        for key, value, time, headers, step, fate in batch.records:
            at = offset + step - 1
            before.append(key, value, timestamp=time, headers=headers, offset=at)
            old.append(key, value, timestamp=time, offset=at)
            if fate:
                left = value if fate < 29 else b"another"
                after.append(key, left, timestamp=time, headers=headers, offset=at)
            offset = at + 1
        if before.count:
            was = bytes(old.build() if batch.is_old else before.build())
            left = bytes(after.build(last_offset=before.last_offset)) if after.count else None
            found.append(Lived(was, was if batch.is_left_whole else left, batch.ruling))
    return found


def found_in(data: bytes) -> list[LocatedBatch]:
    """Return the batches of a file; those of the old formats are several."""
    file, window, at, found = SegmentFile(0, "", len(data), 0, 0), memoryview(data), 0, []
    while at < len(data):
        header = read_header(window, at)
        assert header is not None
        found.append(LocatedBatch(header, window, at=at, file=file))
        at += header.size
    return found


class Said(NamedTuple):
    """The results of a verifier; counts and keys only without a fault."""

    judged: list[tuple[int, int, bool]]
    latest: list[int]
    violations: list[Violation]
    counts: RecordCounts
    keys: tuple[int, int, int, set[LostRecord]]


def said_by(
    judges: RecordVerifiers, found: list[Lived], scope: KeyScope, memory_bytes: int
) -> Said | None:
    """Return the results of a verifier for batches; None if memory was too short."""
    violations = Violations()
    said = []
    try:
        judge = judges(replace(plan(), first_dirty=9), scope, violations, memory_bytes)
        for each in found:
            if each.after is not None and each.after[16] == MAGIC:
                judge.learn(*found_in(each.after))
        for each in found:
            before, after = found_in(each.before), found_in(each.after or b"")
            rest = after[-1] if after and after[-1].header.magic == MAGIC else None
            said += [judge.judge(old, None, ruling=each.ruling) for old in before[:-1]]
            said.append(judge.judge(before[-1], rest, ruling=each.ruling))
    except KeysFullError:
        return None
    keys = judge.keys
    return Said(
        [(each.was, each.left.records, each.has_tombstone) for each in said],
        [each.left.latest for each in said],
        violations.kept,
        judge.counts,
        (keys.dirty_keys, keys.superseded, keys.tombstones, set(keys.lost())),
    )


@given(drawn=lives, scope=scopes, memory_bytes=st.sampled_from((2_000, 20_000, LARGEST)))
def test_kernel_verifier_has_the_same_result_as_the_plain_one(
    drawn: list[DrawnBatch], scope: KeyScope, memory_bytes: int
) -> None:
    batches = lived(drawn)

    plain = said_by(plain_record_verifier, batches, scope, LARGEST)
    kernel = said_by(KernelRecordVerifier, batches, scope, memory_bytes)

    assert plain is not None
    if kernel is not None:
        assert (kernel.judged, kernel.violations) == (plain.judged, plain.violations)
    if kernel is not None and not plain.violations:
        assert (kernel.counts, kernel.keys) == (plain.counts, plain.keys)
        assert kernel.latest == plain.latest or any(each.stamp is not None for each in drawn)


class CompactionJudgedByKernels(CompactionMachine):
    """Lives of logs that are cleaned, each pass proven by the kernels."""

    engine = replace(PLAIN, judges=KernelRecordVerifier)


TestCompaction = CompactionJudgedByKernels.TestCase
TestCompaction.settings = settings(stateful_step_count=30, deadline=None)

"""Verification of one partition: every file of it is compared with the log.

If the partition changes during the check, it is checked again, and only findings of both checks
are reported. For a single segment, only its own files are checked.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import SegmentSource
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import LEADER_EPOCHS, parse_epoch_checkpoint
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.checkpoints.partition_metadata_file import (
    PARTITION_METADATA,
    parse_partition_metadata,
)
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.segment_listing import (
    ListedSegment,
    pending_swaps,
    snapshot_offsets,
)
from cordwood.workbench.topic_settings_lookup import CleanupPolicy
from cordwood.workbench.unreadable_ranges import UnreadablePages, ZeroFillingSource
from cordwood.workbench.verify.checkpoint_checks import CheckpointedEnds, check_ends
from cordwood.workbench.verify.file_name_checks import check_names, find_orphans
from cordwood.workbench.verify.findings import (
    VerifiedPartition,
    VerifyFinding,
    confirmed_findings,
    damage,
    file_finding,
)
from cordwood.workbench.verify.log_end_witnesses import LogEndWitnesses, check_log_end
from cordwood.workbench.verify.offset_order_checks import OffsetOrderCheck, check_epochs
from cordwood.workbench.verify.producer_checks import ProducerCheck
from cordwood.workbench.verify.segment_verification import (
    SegmentInLog,
    SegmentVerifier,
    VerifyOptions,
    check_pending,
)

#: The most checks of a partition that changes and has damage each time.
MAX_ATTEMPTS: Final = 3

T = TypeVar("T")


class PartitionContext(NamedTuple):
    """Facts about a partition from outside its directory."""

    ends: CheckpointedEnds = CheckpointedEnds()
    cleanup: CleanupPolicy = CleanupPolicy()


def verify_partition(
    reader: PartitionReader,
    partition: TopicPartition | None,
    *,
    options: VerifyOptions,
    only: int | None = None,
    context: PartitionContext = PartitionContext(),  # noqa: B008  # a value
) -> VerifiedPartition:
    """Verify a partition, or only its segment with the base offset `only`.

    `context` must be read before this is called.
    """

    def check_once() -> VerifiedPartition:
        return _check(reader, partition, options=options, only=only, context=context)

    found: VerifiedPartition | None = None
    for _ in range(MAX_ATTEMPTS):
        before = _file_states(reader)
        latest = reader.retry_on_change(check_once)
        if found is not None:
            latest = replace(latest, findings=confirmed_findings(found.findings, latest.findings))
        found = latest
        if not found.is_damaged or _file_states(reader) == before:
            break
    assert found is not None, "there is at least one check"
    reader.close()
    return found


def _file_states(reader: PartitionReader) -> object:
    """Return the sizes and times of all files, which change if the partition does."""
    return reader.retry_on_change(
        lambda: [reader.source.stat(name) for name in reader.list_names()]
    )


def _check(
    reader: PartitionReader,
    partition: TopicPartition | None,
    *,
    options: VerifyOptions,
    only: int | None,
    context: PartitionContext,
) -> VerifiedPartition:
    unreadable = UnreadablePages()
    source = ZeroFillingSource(reader.source, unreadable)
    names, checkpoints = reader.list_names(), reader.checkpoints()
    listed = reader.list_segments()
    bases = [each.base_offset for each in listed]
    followed = zip(listed, [*bases, None][1:], strict=True)
    places = [SegmentInLog(*each) for each in followed if only in (None, each[0].base_offset)]
    findings = [] if only is not None else _name_findings(source, names, listed, options)
    epochs = _epochs(source, findings)
    _read(source, PARTITION_METADATA, parse=parse_partition_metadata, findings=findings)
    order = OffsetOrderCheck(epochs, epochs_path=f"{source.path}/{LEADER_EPOCHS}")
    ends, cleaned_to, snapshots = context.ends, checkpoints.cleaned_to, _snapshots(names, only)
    producers = ProducerCheck(
        source, snapshots, unsynced_from=ends.unsynced_from, log_start=checkpoints.log_start
    )
    first = places[0].listed.base_offset if places else checkpoints.log_start
    producers.start(first)
    producers.thin_out(cleaned_to)
    verifier = SegmentVerifier(source, order, producers, options=options, ends=ends)
    for place in places:
        verifier.verify(place)
    producers.check_end(verifier.log_end, is_clean=ends.is_clean and only is None)
    findings += verifier.findings + order.findings + producers.findings
    log_end = max(first, verifier.log_end)
    findings += order.classify(
        log_start=checkpoints.log_start,
        cleaned_to=cleaned_to if cleaned_to <= log_end else 0,
        cleanup=context.cleanup,
        orphans=find_orphans(names),
        last_batches=dict(producers.missing_last_batches(log_end)),
    )
    findings += _unreadable(unreadable)
    if only is None:
        witnesses = LogEndWitnesses(epochs, snapshots, ends.unsynced_from)
        findings += check_ends(source.path, ends, log_end=log_end, cleaned_to=cleaned_to)
        findings += check_log_end(source.path, witnesses, log_end=log_end)
    log_start = max(first, checkpoints.log_start)
    return VerifiedPartition(
        path=source.path,
        partition=None if partition is None else str(partition),
        log_start=log_start,
        log_end=max(log_start, verifier.log_end),
        segments=len(places),
        batches=verifier.batches,
        records=verifier.records,
        size=verifier.size,
        tail_bytes=verifier.tail_bytes,
        is_segment=only is not None,
        findings=tuple(each.in_directory(source.path) for each in findings),
    )


def _name_findings(
    source: SegmentSource,
    names: Sequence[str],
    listed: Sequence[ListedSegment],
    options: VerifyOptions,
) -> list[VerifyFinding]:
    """Return the findings about file names, and about `.swap` files that are not listed."""
    bases = {each.base_offset for each in listed}
    findings = list(check_names(source.path, names, bases=bases))
    for pending in pending_swaps(names, listed):
        findings += check_pending(source, pending, options=options)
    return findings


def _unreadable(pages: UnreadablePages) -> list[VerifyFinding]:
    return [damage(each.path, each.cause, position=each.position) for each in pages.ranges()]


def _epochs(source: SegmentSource, findings: list[VerifyFinding]) -> Sequence[EpochEntry]:
    """Return the entries of the leader epoch checkpoint; none if they are damaged."""
    epochs = _read(source, LEADER_EPOCHS, parse=parse_epoch_checkpoint, findings=findings) or []
    wrong = list(check_epochs(epochs, f"{source.path}/{LEADER_EPOCHS}"))
    findings += wrong
    return [] if wrong else epochs


def _snapshots(names: Sequence[str], only: int | None) -> list[int]:
    return [each for each in snapshot_offsets(names) if only in (None, each)]


def _read(
    source: SegmentSource, name: str, *, parse: Callable[..., T], findings: list[VerifyFinding]
) -> T | None:
    """Read a file next to the segments; None if it is missing or damaged."""
    try:
        data = source.read(name, source.stat(name).size, 0)
        return parse(data, path=f"{source.path}/{name}")
    except FileNotFoundError:
        return None
    except DamagedFileError as error:
        findings.append(file_finding(error))
        return None

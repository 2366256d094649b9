"""One partition verified: every file of it, each held against the log.

What changed while it was looked at is looked at again, and only what is found each time is
believed. Of a single segment only its own files are looked at.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import SegmentSource
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints import LEADER_EPOCHS, parse_epoch_checkpoint
from cordwood.storage.partition_metadata import PARTITION_METADATA, parse_partition_metadata
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_listing import snapshot_offsets
from cordwood.workbench.findings import Finding, VerifiedPartition, damage, in_both, of_file
from cordwood.workbench.settings_found import Cleanup
from cordwood.workbench.unreadable import ReadAround, Unreadable
from cordwood.workbench.verify_ends import SaidEnds, check_ends
from cordwood.workbench.verify_names import check_names, orphans_among
from cordwood.workbench.verify_order import Order, check_epochs
from cordwood.workbench.verify_producers import Producers
from cordwood.workbench.verify_segment import SegmentPlace, SegmentVerifier, VerifyTools

#: How often a partition is looked at that changes, and has something wrong each time.
MOST_LOOKS: Final = 3

T = TypeVar("T")


class SaidBeside(NamedTuple):
    """What is said of a partition outside of its directory."""

    ends: SaidEnds = SaidEnds()
    cleanup: Cleanup = Cleanup()


def verify_partition(
    reader: PartitionReader,
    partition: TopicPartition | None,
    *,
    tools: VerifyTools,
    only: int | None = None,
    said: SaidBeside = SaidBeside(),  # noqa: B008  # a value
) -> VerifiedPartition:
    """Verify a partition, or of it only the segment with one base offset.

    `said` is what others said of it before it was looked at.
    """

    def look() -> VerifiedPartition:
        return _look(reader, partition, tools=tools, only=only, said=said)

    found: VerifiedPartition | None = None
    for _ in range(MOST_LOOKS):
        before = _state_of(reader)
        latest = reader.patiently(look)
        if found is not None:
            latest = replace(latest, findings=in_both(found.findings, latest.findings))
        found = latest
        if not found.is_damaged or _state_of(reader) == before:
            break
    assert found is not None, "there is at least one look"
    reader.close()
    return found


def _state_of(reader: PartitionReader) -> object:
    """Return what changes when a partition does."""
    return reader.patiently(lambda: [reader.source.stat(name) for name in reader.names()])


def _look(
    reader: PartitionReader,
    partition: TopicPartition | None,
    *,
    tools: VerifyTools,
    only: int | None,
    said: SaidBeside,
) -> VerifiedPartition:
    unreadable = Unreadable()
    source = ReadAround(reader.source, unreadable)
    names, beside = reader.names(), reader.beside()
    listed = reader.listed()
    bases = [each.base_offset for each in listed]
    places = [
        SegmentPlace(each, next_base)
        for each, next_base in zip(listed, [*bases, None][1:], strict=True)
        if only is None or each.base_offset == only
    ]
    findings = list(check_names(source.path, names, bases=set(bases))) if only is None else []
    order = _order(source, findings)
    _read(source, PARTITION_METADATA, parse=parse_partition_metadata, findings=findings)
    unsynced = said.ends.unsynced_from
    producers = Producers(source, _snapshots(names, only), unsynced_from=unsynced)
    first = places[0].listed.base_offset if places else beside.log_start
    producers.start(first)
    if beside.cleaned_to > 0:
        producers.lose()
    verifier = SegmentVerifier(source, order, producers, tools=tools)
    for place in places:
        verifier.verify(place)
    producers.reach(verifier.log_end)
    findings += verifier.findings + order.findings + producers.findings
    findings += order.judge(
        log_start=beside.log_start,
        cleaned_to=beside.cleaned_to,
        cleanup=said.cleanup,
        orphans=orphans_among(names, set(bases)),
    )
    findings += [
        damage(each.path, each.cause, position=each.position) for each in unreadable.stretches()
    ]
    if only is None:
        findings += check_ends(source.path, said.ends, log_end=max(first, verifier.log_end))
    log_start = max(first, beside.log_start)
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
        findings=tuple(findings),
    )


def _order(source: SegmentSource, findings: list[Finding]) -> Order:
    """Read the leader epochs, against which the log's are held."""
    path = f"{source.path}/{LEADER_EPOCHS}"
    epochs = _read(source, LEADER_EPOCHS, parse=parse_epoch_checkpoint, findings=findings) or []
    wrong = list(check_epochs(epochs, path))
    findings += wrong
    return Order([] if wrong else epochs, epochs_path=path)


def _snapshots(names: Sequence[str], only: int | None) -> list[int]:
    return [each for each in snapshot_offsets(names) if only in (None, each)]


def _read(
    source: SegmentSource, name: str, *, parse: Callable[..., T], findings: list[Finding]
) -> T | None:
    """Read a file beside the segments; None without one, or if it is damaged."""
    try:
        data = source.read(name, source.stat(name).size, 0)
        return parse(data, path=f"{source.path}/{name}")
    except FileNotFoundError:
        return None
    except DamagedFileError as error:
        findings.append(of_file(error))
        return None

"""Offline compaction of one partition, in place, while no broker uses its directory.

    plan     read bounds, settings and holds; nothing is written, and a dry run ends here
    check    reject a topic that is not known to be compacted, and keys to erase beyond the pass
    pass     write `.cleaned` files next to the segments
    swap     group by group, with the storage's protocol: a crash leaves the old or the new segments
    finish   write the cleaner's checkpoint, read the cleaned range for the certificate, return it

The engine and the rules are the broker's, with one exception: the dirty ratio is not checked, since
the caller wants the log compacted now.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.cleaning_job import (
    CleaningFailedError,
    CleaningJob,
    CleaningResult,
    Verify,
)
from cordwood.compaction.key_hash import SEEDS
from cordwood.compaction.passes.key_erasure import SALT_BYTES, seal_keys
from cordwood.compaction.plan.candidates import LogToClean, assess
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, SourceSegment
from cordwood.compaction.plan.directory_facts import (
    DirectoryFacts,
    plan_directory,
    read_directory_facts,
)
from cordwood.compaction.plan.plan_builder import DEFAULT_PASS_OPTIONS, PassOptions
from cordwood.core.errors import CorruptMessageError, DamagedFileError, SettingError
from cordwood.core.ports import Files, Ports
from cordwood.core.types import Offset
from cordwood.records.decoder import Decoder
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.log.log import Log
from cordwood.storage.log.segment_swap import SegmentReplacement
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import (
    open_reader,
    partition_paths,
    read_high_watermark,
)
from cordwood.workbench.exclusive_log import open_exclusively, partition_named_by
from cordwood.workbench.held_segments import (
    HeldSegment,
    HeldSegments,
    first_offsets,
    with_empty_active,
)
from cordwood.workbench.key_lookup import count_key_records, find_key_offsets
from cordwood.workbench.partition_paths import is_log_directory
from cordwood.workbench.record_digest import (
    RecordDigest,
    RecordReaders,
    digest_records,
    open_all_records,
)
from cordwood.workbench.state_digest import STATES_VERSION
from cordwood.workbench.topic_settings_lookup import GIVEN, FoundSettings, SettingsFinder

_IO_BUFFER_BYTES: Final = 4 << 20

#: The errors of one log, which do not stop the compaction of others.
FAILURES_OF_A_LOG: Final = (CleaningFailedError, CorruptMessageError, DamagedFileError)

#: The records of each key to erase, if there are none.
NO_KEYS: Final[Mapping[bytes, int]] = MappingProxyType({})

#: Runs a cleaning pass.
RunPass: TypeAlias = Callable[[CleaningJob], CleaningResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactOrder:
    """Options of a compaction.

    With `is_rolled` the active segment is rolled first, if it can be cleaned then. With
    `is_newer_left` keys are erased even if records of them stay beyond the pass. `seed` repeats the
    verification sample of an earlier pass; None draws a new seed.
    """

    pass_options: PassOptions = DEFAULT_PASS_OPTIONS
    memory_bytes: int = 128 << 20
    verify: Verify = Verify.SAMPLE
    seed: int | None = None
    is_rolled: bool = False
    is_newer_left: bool = False


class CompactTarget(NamedTuple):
    """The directory of a partition to compact, and its settings."""

    path: str
    found: FoundSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """The plan of a compaction, and its certificate unless it was a dry run.

    A group contains the base offsets of the segments that are rewritten into one; without groups
    there is nothing to do. `newer` contains the offsets of records of erased keys that stay.
    `erased_keys` are the keys to erase, each with the number of its records in the range of the
    pass. `absent_keys` have no record in the log. The JSON has neither, since it may be kept.
    """

    path: str
    partition: str
    log_start: int
    log_end: int
    first_dirty: int
    end: int
    dirty_ratio: float
    size: int
    groups: tuple[tuple[int, ...], ...]
    held: tuple[HeldSegment, ...]
    warning: str | None = None
    newer: tuple[int, ...] = ()
    erased_keys: tuple[tuple[bytes, int], ...] = ()
    absent_keys: tuple[bytes, ...] = ()
    certificate: Certificate | None = None

    def to_json(self) -> str:
        """Return the fields as a JSON object; of the absent keys only their number."""
        certificate = self.certificate and json.loads(self.certificate.to_json())
        absent = len(self.absent_keys)
        fields = asdict(replace(self, absent_keys=(), erased_keys=()))
        del fields["erased_keys"]
        return json.dumps({**fields, "absent_keys": absent, "certificate": certificate})


def find_compact_targets(
    files: Files, paths: Iterable[str], *, settings: SettingsFinder
) -> list[CompactTarget]:
    """Return the partitions at some paths; in a log directory, those of compacted topics.

    SettingError if the metadata of a log directory contain no compacted topic. SettingError also if
    `cleanup.policy` is given for a log directory, since it would apply to all of its topics.
    """
    found = []
    for path in paths:
        if not is_log_directory(files, path):
            found.append(_target(path, settings))
            continue
        inside = [_target(each, settings) for each in partition_paths(files, path)]
        if any(each.found.cleanup.source == GIVEN for each in inside):
            raise _policy_error(
                path,
                "cleanup.policy is given for all topics of the log directory",
                "give the directories of single partitions",
            )
        compacted = [each for each in inside if each.found.cleanup.is_compacted]
        if not compacted:
            raise _policy_error(
                path,
                "the metadata contain no compacted topic",
                "give directories of partitions, and --config cleanup.policy=compact",
            )
        found += compacted
    return found


def compact(
    ports: Ports,
    path: str,
    *,
    found: FoundSettings,
    order: CompactOrder,
    readers: RecordReaders,
    run: RunPass,
) -> CompactReport:
    """Compact a partition that no broker uses.

    LogDirectoryError if a broker uses the directory, or it does not exist; SettingError if the
    topic is not compacted, or records of erased keys would stay; DamagedFileError if the cleaner's
    checkpoint is damaged. After these, and after CleaningFailedError and CleaningStoppedError, the
    log is unchanged.
    """
    _ensure_compacted(path, found)
    with open_exclusively(ports, path, config=found.config) as log:
        decoder = readers.decoder
        prepared = prepare_pass(ports, log, found=found, order=order, decoder=decoder)
        if prepared.job is None:
            return prepared.report
        cleaning = run(prepared.job)
        return swap_in(ports, log, prepared=prepared, cleaning=cleaning, readers=readers)


class PreparedPass(NamedTuple):
    """The job for a log, None if there is nothing to do, and the end of its clean part.

    `erased` counts the records of each key to erase.
    """

    report: CompactReport
    job: CleaningJob | None
    clean_to: int
    erased: Mapping[bytes, int] = NO_KEYS


def prepare_pass(
    ports: Ports, log: Log, *, found: FoundSettings, order: CompactOrder, decoder: Decoder
) -> PreparedPass:
    """Return the pass for a log that is open exclusively; errors are those of `compact`."""
    _ensure_compacted(log.directory, found)
    # Written after the swap, when a damaged file could no longer stop the pass.
    read_offset_checkpoint(ports.files, _checkpoint_path(log))
    if order.is_rolled and log.segments[-1].size and _is_roll_useful(ports, log, found, order):
        log.roll()
    planned = _plan(ports, log.directory, found=found, order=order, decoder=decoder)
    if planned.plan is None:
        return PreparedPass(planned.report, None, planned.clean_to)
    job = CleaningJob(
        directory=log.directory,
        plan=planned.plan,
        memory_bytes=order.memory_bytes,
        io_buffer_bytes=_IO_BUFFER_BYTES,
        verify=order.verify,
        seed=ports.random.below(SEEDS) if order.seed is None else order.seed,
    )
    return PreparedPass(planned.report, job, planned.clean_to, planned.erased)


def _is_roll_useful(ports: Ports, log: Log, found: FoundSettings, order: CompactOrder) -> bool:
    """Return whether a pass compacts the active segment once it has been rolled."""
    with closing(open_reader(ports.files, log.directory)) as reader:
        facts = _read_facts(ports.files, reader, log.directory, found, order).facts
    end = assess(with_empty_active(facts), ports.clock.now_ms()).end
    until = order.pass_options.until
    return min(end, end if until is None else until) >= facts.log_end


def swap_in(
    ports: Ports,
    log: Log,
    *,
    prepared: PreparedPass,
    cleaning: CleaningResult,
    readers: RecordReaders,
) -> CompactReport:
    """Replace the segments by the output of the pass, and return the report."""
    assert prepared.job is not None, "there was a pass to run"
    for replaced, cleaned in cleaning.groups:
        bases = tuple(each.base_offset for each in cleaned)
        log.begin_swap(SegmentReplacement(replaced, bases, log.bounds.truncations)).finish()
    _checkpoint_clean(ports.files, log, max(cleaning.end, prepared.clean_to))
    salt = ports.random.token(SALT_BYTES)
    sealed = seal_keys(prepared.erased, salt=salt)
    start = prepared.job.plan.segments[0].base_offset
    with closing(open_all_records(ports.files, log.directory)) as reader:
        digest = digest_records(reader, start=start, end=cleaning.end, readers=readers)
    certificate = replace(
        cleaning.certificate,
        erased_keys=tuple(sealed),
        erased_records=tuple(sealed.values()),
        start=start,
        sha256=digest.sha256,
        states_version=STATES_VERSION,
        states_sha256=digest.states_sha256,
    )
    _ensure_counted(log.directory, certificate, digest)
    return replace(prepared.report, certificate=certificate)


def plan_compaction(
    ports: Ports, path: str, *, found: FoundSettings, order: CompactOrder, decoder: Decoder
) -> CompactReport:
    """Return the plan of `compact`; nothing is written, and a broker may use the directory."""
    _ensure_compacted(path, found)
    return _plan(ports, path, found=found, order=order, decoder=decoder).report


@dataclass(frozen=True, slots=True)
class _PlannedCompaction:
    plan: CleaningPlan | None
    report: CompactReport
    clean_to: int
    erased: Mapping[bytes, int] = field(default_factory=dict)


def _plan(
    ports: Ports, path: str, *, found: FoundSettings, order: CompactOrder, decoder: Decoder
) -> _PlannedCompaction:
    now_ms = ports.clock.now_ms()
    with closing(open_reader(ports.files, path)) as reader:
        seen = _read_facts(ports.files, reader, path, found, order)
        assessment = assess(seen.facts, now_ms)
        plan = plan_directory(seen, assessment, now_ms=now_ms, options=order.pass_options)
        end = seen.facts.segments[0].base_offset if plan is None else plan.end
        keys = order.pass_options.erased_keys
        newer = find_key_offsets(reader, keys, start=end, decoder=decoder) if keys else ()
        erased = count_key_records(reader, keys, end=end, decoder=decoder) if keys else {}
        absent = frozenset(key for key, count in erased.items() if not count)
        if newer and absent:
            known = count_key_records(reader, absent, end=seen.facts.log_end, decoder=decoder)
            absent = frozenset(key for key, count in known.items() if not count)
    held = HeldSegments(seen.facts, found, now_ms=now_ms, is_rolled=order.is_rolled)
    if newer and not order.is_newer_left:
        _reject_newer(path, newer, held)
    report = replace(
        _report(path, assessment, plan, held=held.beyond(end), end=end),
        newer=newer,
        erased_keys=tuple(sorted((key, count) for key, count in erased.items() if count)),
        absent_keys=tuple(sorted(absent)),
    )
    return _PlannedCompaction(plan, report, assessment.first_dirty.offset, erased)


def _read_facts(
    files: Files, reader: PartitionReader, path: str, found: FoundSettings, order: CompactOrder
) -> DirectoryFacts:
    """Return the facts of the log, as the options of the pass want them."""
    seen = read_directory_facts(
        reader,
        partition=partition_named_by(path),
        config=found.config,
        high_watermark=read_high_watermark(files, path),
    )
    if order.pass_options.is_from_start:
        seen = seen._replace(facts=replace(seen.facts, checkpoint=None))
    return seen


def _policy_error(path: str, problem: str, remedy: str) -> SettingError:
    return SettingError(f"{path}: {problem}", key="cleanup.policy", remedy=remedy)


def _target(path: str, settings: SettingsFinder) -> CompactTarget:
    return CompactTarget(path, settings.find(directory_of(path), partition_named_by(path).topic))


def _ensure_compacted(path: str, found: FoundSettings) -> None:
    """Raise SettingError unless the topic is compacted: a pass would lose its records."""
    cleanup = found.cleanup
    if cleanup.is_compacted:
        return
    problem = "the cleanup policy of its topic is unknown"
    if cleanup.is_compacted is not None:
        problem = f"its topic is not compacted (source: {cleanup.source})"
    raise _policy_error(path, problem, "to compact it anyway, give --config cleanup.policy=compact")


def _reject_newer(path: str, newer: tuple[int, ...], held: HeldSegments) -> None:
    reasons, remedies = held.of_offsets(newer)
    raise SettingError(
        f"{path}: cannot erase {len(newer)} records of the keys to erase (offsets "
        f"{first_offsets(newer)}): {'; '.join(reasons)}",
        key="erase-key",
        remedy=f"use {' and '.join(remedies)}, or --leave-newer to keep these",
    )


def _report(
    path: str,
    assessment: LogToClean,
    plan: CleaningPlan | None,
    *,
    held: tuple[HeldSegment, ...],
    end: int,
) -> CompactReport:
    facts = assessment.facts
    groups: tuple[tuple[SourceSegment, ...], ...] = () if plan is None else plan.groups
    return CompactReport(
        path=path,
        partition=str(facts.partition),
        log_start=facts.log_start,
        log_end=facts.log_end,
        first_dirty=assessment.first_dirty.offset,
        end=end,
        dirty_ratio=assessment.dirty_ratio,
        size=0 if plan is None else plan.size,
        groups=tuple(tuple(each.base_offset for each in group) for group in groups),
        held=held,
        warning=assessment.first_dirty.warning,
    )


def _checkpoint_clean(files: Files, log: Log, offset: int) -> None:
    """Write the end of the clean part of the log to the cleaner's checkpoint.

    The directory of a copied partition has no checkpoint yet. It is needed there too: without it,
    a verification would report the offsets that the cleaner removed as lost.
    """
    path = _checkpoint_path(log)
    known = read_offset_checkpoint(files, path)
    write_offset_checkpoint(files, path, offsets={**known, log.partition: Offset(offset)})


def _checkpoint_path(log: Log) -> str:
    return f"{directory_of(log.directory)}/{CLEANER_OFFSETS}"


def _ensure_counted(directory: str, certificate: Certificate, digest: RecordDigest) -> None:
    """Raise CleaningFailedError if the log that was swapped in is not the one that was written."""
    kept = certificate.counts.records_kept, certificate.counts.tombstones_kept
    if (digest.records, digest.tombstones) != kept:
        raise CleaningFailedError(
            f"{directory}: the log has {digest.records} records and {digest.tombstones} tombstones "
            f"below offset {certificate.end}, and the pass, whose segments replace the old ones "
            f"now, wrote {kept[0]} and {kept[1]}; run cordwood log verify"
        )

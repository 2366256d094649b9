"""Verdicts of the commands that repair: on the partition as they found it.

`verdicts` has the words and the verdict of `verify`.
"""

from contextlib import suppress
from dataclasses import replace
from shlex import quote

from cordwood.core.errors import CorruptMessageError, LogDirectoryError
from cordwood.core.ports import Files, Ports
from cordwood.core.types import TopicPartition
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.path_resolution import reader_of
from cordwood.workbench.partition_paths import PartitionTarget
from cordwood.workbench.reindex import LostOffsets, ReindexReport, reindex
from cordwood.workbench.salvage.empty_log import salvage_empty
from cordwood.workbench.salvage.salvage import DEFAULT_OPTIONS, SalvageOptions, salvage
from cordwood.workbench.salvage.salvage_report import (
    ReportedOffsets,
    SalvagedOffsets,
    SalvageReport,
)
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verdicts import open_question, verdict_on_damage, verify_partition_at
from cordwood.workbench.verify.findings import Verdict, VerifiedPartition, offsets_text
from cordwood.workbench.verify.segment_verification import VerifyOptions
from cordwood.workbench.verify.verify import PartitionContexts, verify_target


def salvage_with_verdict(
    ports: Ports,
    source: str,
    *,
    out: str,
    partition: TopicPartition | None = None,
    options: SalvageOptions = DEFAULT_OPTIONS,
    settings: SettingsFinder | None = None,
) -> SalvageReport:
    """Salvage a partition, and return the report with the verdict on the source."""
    report = salvage(ports, source, out=out, partition=partition, options=options)
    return _with_verdict(ports.files, report, options=options, settings=settings)


def salvage_empty_with_verdict(
    ports: Ports,
    source: str,
    *,
    out: str,
    options: SalvageOptions = DEFAULT_OPTIONS,
    settings: SettingsFinder | None = None,
) -> SalvageReport:
    """Create an empty partition like the source, and return the report with the verdict on it."""
    report = salvage_empty(ports, source, out=out, options=options)
    return _with_verdict(ports.files, report, options=options, settings=settings)


def _with_verdict(
    files: Files,
    report: SalvageReport,
    *,
    options: SalvageOptions,
    settings: SettingsFinder | None,
) -> SalvageReport:
    found = verify_target(
        PartitionTarget(reader_of(files, report.source)),
        contexts=PartitionContexts(files, settings),
        options=VerifyOptions(checker=options.checker, on_bytes=options.on_bytes),
    )
    if found.is_damaged:
        offsets = SalvagedOffsets(report.lost, report.doubtful)
        return replace(report, verdict=verdict_on_damage(offsets))
    return _explained(report, found)


def reindex_with_verdict(
    files: Files,
    path: str,
    *,
    config: LogConfig,
    now_ms: int,
    settings: SettingsFinder | None = None,
    options: VerifyOptions,
) -> ReindexReport:
    """Reindex a partition, and return the report with the verdict on it from before.

    LogDirectoryError also for a tail that a broker has to truncate first.
    """
    found: VerifiedPartition | None = None
    with suppress(OSError, LogDirectoryError):  # `reindex` raises the better error
        found = verify_partition_at(files, path, settings=settings, checker=options.checker)
    try:
        report = reindex(files, path, config=config, now_ms=now_ms, on_bytes=options.on_bytes)
    except CorruptMessageError as error:
        if found is None or found.is_damaged:
            raise
        raise LogDirectoryError(
            "has a tail that is not a whole batch; nothing was changed",
            path=path,
            remedy="start a broker on it and stop it, which truncates the tail; to keep its "
            f"records, first run: cordwood log salvage {quote(path)} --out NEWDIR",
        ) from error
    if found is None or found.verdict is None:
        return report
    report = replace(report, verdict=found.verdict)
    if found.verdict is Verdict.LOST or not report.lost:
        return report
    cause = open_question(found) or "removed by a cleaner"
    notes = (f"{_text(each)}: {cause}" for each in report.lost)
    return replace(report, lost=(), warnings=(*report.warnings, *notes))


def _explained(report: SalvageReport, found: VerifiedPartition) -> SalvageReport:
    """Return the report on a source without damage: no offset of it is certainly lost."""
    question = open_question(found)
    if question is not None:
        open_ = (each._replace(why=question) for each in report.lost)
        doubtful = sorted((*report.doubtful, *open_))
        return replace(report, lost=(), doubtful=tuple(doubtful), verdict=Verdict.UNVERIFIED)
    inside = [each for each in report.lost if _is_below(each, found.log_end)]
    behind = [each for each in report.lost if not _is_below(each, found.log_end)]
    notes = (f"{_reported_text(each)}: not fsynced, and torn by a crash" for each in behind)
    return replace(
        report,
        lost=(),
        gaps=tuple(sorted((*report.gaps, *inside))),
        notes=(*report.notes, *notes),
        verdict=Verdict.WHOLE,
    )


def _is_below(offsets: ReportedOffsets, end: int) -> bool:
    return offsets.last is not None and offsets.last < end


def _reported_text(offsets: ReportedOffsets) -> str:
    return offsets_text(offsets.first, None if offsets.last is None else offsets.last + 1)


def _text(offsets: LostOffsets) -> str:
    return offsets_text(offsets.first_offset, offsets.end_offset)

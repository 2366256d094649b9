"""Verdicts on the loss of records, which all commands share.

    whole          nothing is damaged; a tail that no broker has fsynced may be torn
    repairable     files are damaged, and every record can be restored from them
    records lost   some records are in no file, or cannot be read
    unverified     records may be lost: the files do not decide it

`verify` finds damage. A damaged partition is then surveyed as `salvage` does it, and nothing is
written: that decides whether records are lost. So a whole partition is read once.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cordwood.core.errors import CordwoodError, LogDirectoryError
from cordwood.core.ports import Files
from cordwood.records.batch_checks import BatchChecker, PlainBatchChecker
from cordwood.storage.reader.path_resolution import reader_of
from cordwood.workbench.file_window import OnBytes, ignore_bytes
from cordwood.workbench.partition_paths import PartitionTarget
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verify.findings import Verdict, Verification, VerifiedPartition
from cordwood.workbench.verify.segment_verification import VerifyOptions
from cordwood.workbench.verify.verify import PartitionContexts, verify, verify_target

if TYPE_CHECKING:
    from cordwood.workbench.salvage.salvage_report import SalvagedOffsets

#: The verdicts after which a command ends with exit code 1 although it has done its work.
BAD_VERDICTS: Final = frozenset({Verdict.LOST, Verdict.UNVERIFIED})


def verify_with_verdicts(
    files: Files,
    paths: Iterable[str],
    *,
    settings: SettingsFinder | None = None,
    checker: BatchChecker | None = None,
    on_bytes: OnBytes = ignore_bytes,
) -> Verification:
    """Verify the logs at some paths, as `verify` does, and return a verdict on each partition."""
    checker = checker or PlainBatchChecker()
    found = verify(files, paths, settings=settings, checker=checker, on_bytes=on_bytes)
    partitions = tuple(with_verdict(files, each, checker=checker) for each in found.partitions)
    return replace(found, partitions=partitions)


def verify_partition_at(
    files: Files,
    path: str,
    *,
    settings: SettingsFinder | None = None,
    checker: BatchChecker | None = None,
    on_bytes: OnBytes = ignore_bytes,
) -> VerifiedPartition:
    """Verify the directory of a partition, also one whose segments have lost their names."""
    checker = checker or PlainBatchChecker()
    return with_verdict(
        files,
        verify_target(
            PartitionTarget(reader_of(files, path)),
            contexts=PartitionContexts(files, settings),
            options=VerifyOptions(checker=checker, on_bytes=on_bytes),
        ),
        checker=checker,
    )


def with_verdict(
    files: Files, found: VerifiedPartition, *, checker: BatchChecker
) -> VerifiedPartition:
    """Return the result of `verify` for a partition with the verdict on it."""
    if found.is_segment:
        return found
    if not found.is_damaged:
        is_open = any(each.is_unverified for each in found.findings)
        return replace(found, verdict=Verdict.UNVERIFIED if is_open else Verdict.WHOLE)
    # A whole partition needs none of these modules: a tenth of the time of a short command.
    from cordwood.workbench.salvage.salvage import (  # noqa: PLC0415  # only for damage
        SalvageOptions,
        find_losses_of,
    )

    try:
        offsets = find_losses_of(files, found.path, options=SalvageOptions(checker=checker))
    except LogDirectoryError:  # no readable batch
        return replace(found, verdict=Verdict.LOST)
    except (CordwoodError, OSError):  # the owner has changed files meanwhile
        return found
    return replace(
        found,
        verdict=verdict_on_damage(offsets),
        lost=tuple((each.first, each.last) for each in offsets.lost),
        doubtful=tuple((each.first, each.last) for each in offsets.doubtful),
    )


def verdict_on_damage(offsets: "SalvagedOffsets") -> Verdict:
    """Return the verdict on a damaged partition by the offsets that a salvage does not keep."""
    if offsets.lost:
        return Verdict.LOST
    return Verdict.UNVERIFIED if offsets.doubtful else Verdict.REPAIRABLE


def open_question(found: VerifiedPartition) -> str | None:
    """Return what the files do not decide."""
    return next((each.cause for each in found.findings if each.is_unverified), None)

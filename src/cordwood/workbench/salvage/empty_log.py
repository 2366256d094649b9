"""Partition without records, created again as an empty one.

A topic keeps the number of its partitions: the partition of a key, and that of a consumer group in
`__consumer_offsets`, depend on it. The new log begins at the end of the source, so that consumers
find their committed offsets valid.
"""

from cordwood.core.ports import FileKind, Files, Ports
from cordwood.storage.files import file_names as names
from cordwood.storage.log.log_loader import LogPlace
from cordwood.workbench.salvage.batch_run import SourceWindows
from cordwood.workbench.salvage.new_log import NewContents, create_log
from cordwood.workbench.salvage.salvage import DEFAULT_OPTIONS, SalvageOptions
from cordwood.workbench.salvage.salvage_report import MISSING, ReportedOffsets, SalvageReport
from cordwood.workbench.salvage.salvage_target import named_partition, new_directory
from cordwood.workbench.salvage.source_directory import side_file_facts
from cordwood.workbench.verify.log_end_witnesses import find_lost_tail, lost_tail_end


def has_no_bytes(files: Files, source: str) -> bool:
    """Return whether a partition has no records: each of its `.log` files has no content."""
    listed = files.list(source, FileKind.FILE)
    return all(not files.stat(f"{source}/{name}").size for name in listed if names.LOG in name)


def salvage_empty(
    ports: Ports, source: str, *, out: str, options: SalvageOptions = DEFAULT_OPTIONS
) -> SalvageReport:
    """Create an empty partition like the source in the log directory `out`.

    Offsets that other files of the source show are lost.
    """
    files = ports.files
    partition = named_partition(source)
    target = new_directory(files, source, out=out, partition=partition)
    known = side_file_facts(files, source)
    start = max([known.log_start, *_base_offsets(files, source)])
    end = max(known.end, lost_tail_end(find_lost_tail(files, source, log_end=start), start))
    place = LogPlace(partition=partition, directory=target, config=options.config, is_clean=True)
    contents = NewContents((), (), start, lambda *_: False)
    windows = SourceWindows(files)
    written = create_log(ports, source, place=place, contents=contents, windows=windows)
    lost = (ReportedOffsets(start, end - 1, MISSING),) if end > start else ()
    return SalvageReport(
        source=source,
        path=target,
        partition=str(partition),
        log_start=written.start,
        log_end=written.end,
        batches=0,
        size=0,
        lost=lost,
        notes=known.notes,
    )


def _base_offsets(files: Files, source: str) -> list[int]:
    """Return the base offsets of the segments."""
    parsed = (names.parse_segment_name(name) for name in files.list(source, FileKind.FILE))
    return [
        each.base_offset
        for each in parsed
        if each is not None and each.extension == names.LOG and not each.suffix
    ]

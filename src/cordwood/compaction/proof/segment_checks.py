"""Check of the files of a pass: replaced segments, their replacements, and no other new files.

replaced   the plan's segments from the first one on, in the plan's groups, up to `end`: the
           last group, and those after it, may be missing if memory did not suffice
cleaned    for each group one segment with its name, or more where one would overflow; with the
           modification time of the group's last segment
after      at `end` another segment begins, which stays: the active one is never cleaned
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cordwood.compaction.cleaning_job import CleanedGroup, CleaningResult
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, SourceSegment
from cordwood.compaction.proof.batch_reader import SegmentFile
from cordwood.compaction.proof.violations import Violation
from cordwood.core.ports import SegmentSource
from cordwood.core.types import Offset
from cordwood.storage.files.file_names import CLEANED, LOG, parse_segment_name, segment_name


@dataclass(frozen=True, slots=True)
class SegmentSets:
    """Segments before and after, and their faults."""

    before: tuple[SegmentFile, ...]
    after: tuple[SegmentFile, ...]
    faults: tuple[Violation, ...]


def files_of(source: SegmentSource, cleaning: CleaningResult, *, plan: CleaningPlan) -> SegmentSets:
    """Look up the files that a pass has read and written."""
    before, after, faults = [], [], list(_misplaced(plan, cleaning))
    if faults:
        return SegmentSets((), (), tuple(faults))
    groups = zip(plan.groups, cleaning.groups, strict=False)
    for number, (planned, group) in enumerate(groups):
        for segment in planned[: len(group.replaced)]:
            file, wrong = _source_file(source, segment, number)
            before += file
            faults += wrong
        files, wrong = _cleaned_files(source, planned, group, number)
        after += files
        faults += wrong
    faults += _strangers(source, cleaning)
    return SegmentSets(tuple(before), tuple(after), tuple(faults))


def files_as_they_are(plan: CleaningPlan) -> SegmentSets:
    """Return a plan's segments as both sides."""
    files = tuple(
        SegmentFile(segment.base_offset, "", segment.size, segment.modified_ms, number)
        for number, group in enumerate(plan.groups)
        for segment in group
    )
    return SegmentSets(files, files, ())


def _misplaced(plan: CleaningPlan, cleaning: CleaningResult) -> Iterator[Violation]:
    """Yield the faults of the groups and of the end, by their numbers alone."""
    where = str(plan.partition)
    planned = [tuple(segment.base_offset for segment in group) for group in plan.groups]
    replaced = [group.replaced for group in cleaning.groups]
    if not _is_beginning(replaced, planned):
        what = "other segments are replaced than planned"
        yield Violation(what, where, expected=str(planned), found=str(replaced))
        return
    count = sum(map(len, replaced))
    end = plan.segments[count - 1].end_offset if count else plan.end
    if cleaning.end != end:
        what = "the end is not that of the segments that are replaced"
        yield Violation(what, where, expected=str(end), found=str(cleaning.end))


def _is_beginning(replaced: list[tuple[int, ...]], planned: list[tuple[int, ...]]) -> bool:
    """Return whether groups are a prefix of others, the last of them possibly in part."""
    if not replaced:
        return not planned
    *whole, last = replaced
    count = len(whole)
    if whole != planned[:count] or count == len(planned):
        return False
    return len(last) > 0 and last == planned[count][: len(last)]


def _source_file(
    source: SegmentSource, segment: SourceSegment, number: int
) -> tuple[list[SegmentFile], list[Violation]]:
    name = segment_name(Offset(segment.base_offset), LOG)
    try:
        stat = source.stat(name)
    except FileNotFoundError:
        return [], [Violation("a segment of the plan is missing", name)]
    file = SegmentFile(segment.base_offset, "", segment.size, segment.modified_ms, number)
    if stat.size == segment.size:
        return [file], []
    what = "a segment is not as long as it was when the pass was planned"
    return [file], [Violation(what, name, expected=str(segment.size), found=str(stat.size))]


def _cleaned_files(  # tidy: allow[positional] a group as planned, as cleaned, and its number
    source: SegmentSource, planned: tuple[SourceSegment, ...], group: CleanedGroup, number: int
) -> tuple[list[SegmentFile], list[Violation]]:
    """Return the segments that replace a group's."""
    files, faults = [], []
    bases = [segment.base_offset for segment in group.cleaned]
    last = planned[len(group.replaced) - 1]
    if bases[:1] != [planned[0].base_offset] or bases != sorted(set(bases)):
        what = "a group's segments do not have its base offset"
        name = segment_name(Offset(planned[0].base_offset), LOG, suffix=CLEANED)
        faults.append(Violation(what, name, expected=str(group.replaced[:1]), found=str(bases)))
    for base_offset, size in group.cleaned:
        name = segment_name(Offset(base_offset), LOG, suffix=CLEANED)
        try:
            stat = source.stat(name)
        except FileNotFoundError:
            faults.append(Violation("a cleaned segment is missing", name))
            continue
        files.append(SegmentFile(base_offset, CLEANED, stat.size, stat.modified_ms, number))
        expected, found = (size, last.modified_ms), (stat.size, stat.modified_ms)
        if expected != found:
            what = "a cleaned segment has another size or date"
            faults.append(Violation(what, name, expected=str(expected), found=str(found)))
        if base_offset >= last.end_offset:
            what = "a cleaned segment begins after the segments that it replaces"
            faults.append(Violation(what, name, expected=f"below {last.end_offset}"))
    return files, faults


def _strangers(source: SegmentSource, cleaning: CleaningResult) -> Iterator[Violation]:
    """Yield unlisted cleaned files, and a missing segment at the end."""
    told = {segment.base_offset for group in cleaning.groups for segment in group.cleaned}
    names = source.list()
    for name in names:
        parsed = parse_segment_name(name)
        if parsed is not None and parsed.suffix == CLEANED and parsed.base_offset not in told:
            yield Violation("an unlisted cleaned file", name)
    if segment_name(Offset(cleaning.end), LOG) not in names:
        what = "no segment begins at the end: the last one of a log is never cleaned"
        yield Violation(what, segment_name(Offset(cleaning.end), LOG), cleaning.end)

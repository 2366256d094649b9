"""Mutants that change nothing, each with the reason why."""

from collections.abc import Mapping
from typing import Final

_STRICT: Final = "positions and fates are written down in pairs, so they are never more or fewer"
_FALSE: Final = "it is only asked whether it is true, and neither is"
_SET_LATER: Final = "the first stretch sets it, and there is one at least"

EQUIVALENT: Final[Mapping[str, str]] = {
    "candidates.find_uncleanable_reasons: for number, (segment, end) in "
    "enumerate(zip(facts.segments, ends, strict=True)): | True -> False": (
        "each segment but the last ends where the next begins, so there are as many ends"
    ),
    "candidates.next_due_ms: moments = sorted({now_ms, *(each for each in _moments(facts) "
    "if each > now_ms)}) | each > now_ms -> each >= now_ms": "now is one of them anyway",
    "candidates._is_due_at: rolled = (*facts.segments, CandidateSegment(facts.log_end, 0))"
    " | 0 -> 1": ("the size of a just rolled segment is never used"),
    "segment_writer.CleanedSegmentWriter.append: if len(self._gathered) >= GATHERED_BYTES: "
    "| len(self._gathered) >= GATHERED_BYTES -> len(self._gathered) > GATHERED_BYTES": (
        "what is not written now is written with what comes next"
    ),
    "segment_writer.CleanedSegmentWriter._write: if fitting > at:"
    " | fitting > at -> fitting >= at": ("nothing is written then, and nothing more"),
    "segment_writer.CleanedSegmentWriter._write: self.last.files.log(writable=True).append("
    "view[at:fitting]) | True -> False": (
        "it was opened for writing when it was made, and is open still"
    ),
    "segment_writer.CleanedSegmentWriter.finish: self._table.open(path, writable=True).sync()"
    " | True -> False": "a file is synced in every mode",
    "segment_writer.CleanedSegmentWriter._index: at += self._stride(data[at:INT32_MAX - begin], "
    "begin + at) | at += self._stride(data[at:INT32_MAX - begin], begin + at) -> pass": (
        "a batch that is not strode over is looked at"
    ),
    "segment_writer.CleanedSegmentWriter._roll: segment = LogSegment.create(self._table, path, "
    "config=self._config, now_ms=0) | 0 -> 1": "no time ever rolls this segment",
    "segment_writer.CleanedSegmentWriter._stride: self._pace.went(stride.batches)"
    " | self._pace.went(stride.batches) -> pass": (
        "it only sets the spacing of strides, which changes the speed"
    ),
    "plain_key_map.PlainKeyMap._block_records: for number, (size, word) in "
    "enumerate(zip(keys.sizes, keys.words, strict=True), first_number): | True -> False": (
        "sizes and words are noted in pairs"
    ),
    "mark_phase.MarkPhase.__init__: self.keys = 0 | self.keys = 0 -> pass": _SET_LATER,
    "mark_phase.MarkPhase.__init__: self.keys = 0 | 0 -> 1": _SET_LATER,
    "mark_phase.MarkPhase.__init__: self._unkeyed_dirty = 0 | self._unkeyed_dirty = 0 -> pass": (
        _SET_LATER
    ),
    "mark_phase.MarkPhase.__init__: self._unkeyed_dirty = 0 | 0 -> 1": _SET_LATER,
    "mark_windows._largest_chunk: return max((after - before for before, after in "
    "pairwise(numbers)), default=0) | 0 -> 1": (
        "a log that is divided has chunks of one record at least"
    ),
    "header_survey.HeaderSurvey._is_retained_if_empty: return False"
    " | return False -> return None": _FALSE,
    "segment_chunk.numbered_batches: retentions = "
    "dict(zip(chunk.positions, chunk.retentions, strict=True)) | True -> False": _STRICT,
    "segment_chunk.numbered_batches: number, end = (chunk.first_number, 0) | 0 -> 1": (
        "where a chunk has no batch at all its first byte is none either"
    ),
    "plain_rewriter.PlainRewriter.rewrite: counts.batches_kept += len(retained) > 0 | 0 -> 1": (
        "what is left of a batch has 61 bytes at least"
    ),
    "plain_rewriter._RecordFilter.retained_numbers: return [] | return [] -> return None": _FALSE,
    "plain_rewriter._RecordFilter._is_retained: return False | return False -> return None": _FALSE,
}

"""Mutants that change nothing, each with the reason why."""

from collections.abc import Mapping
from typing import Final

_STRICT: Final = "positions and fates are written down in pairs, so they are never more or fewer"
_FALSE: Final = "it is only asked whether it is true, and neither is"
_SET_LATER: Final = "the first stretch sets it, and there is one at least"

EQUIVALENT: Final[Mapping[str, str]] = {
    "choosing.holds_of: for number, (segment, end) in "
    "enumerate(zip(facts.segments, ends, strict=True)): | True -> False": (
        "each segment but the last ends where the next begins, so there are as many ends"
    ),
    "choosing.when_due: moments = sorted({now_ms, *(each for each in _moments(facts) "
    "if each > now_ms)}) | each > now_ms -> each >= now_ms": "now is one of them anyway",
    "choosing._is_due_at: rolled = (*facts.segments, SegmentSeen(facts.log_end, 0)) | 0 -> 1": (
        "nobody asks for the size of an active segment that has just been rolled"
    ),
    "cleaned.CleanedWriter.append: if len(self._gathered) >= GATHERED_BYTES: "
    "| len(self._gathered) >= GATHERED_BYTES -> len(self._gathered) > GATHERED_BYTES": (
        "what is not written now is written with what comes next"
    ),
    "cleaned.CleanedWriter._write: if fitting > at: | fitting > at -> fitting >= at": (
        "nothing is written then, and nothing more"
    ),
    "cleaned.CleanedWriter._write: self.last.files.log(writable=True).append(view[at:fitting])"
    " | True -> False": "it was opened for writing when it was made, and is open still",
    "cleaned.CleanedWriter.finish: self._table.opened(path, writable=True).sync()"
    " | True -> False": "a file is synced whatever it was opened for",
    "cleaned.CleanedWriter._index: at += self._stride(data[at:INT32_MAX - begin], begin + at)"
    " | at += self._stride(data[at:INT32_MAX - begin], begin + at) -> pass": (
        "a batch that is not strode over is looked at"
    ),
    "cleaned.CleanedWriter._roll: segment = Segment.create(self._table, path, "
    "config=self._config, now_ms=0) | 0 -> 1": "no time ever rolls this segment",
    "cleaned.CleanedWriter._stride: self._pace.went(stride.batches)"
    " | self._pace.went(stride.batches) -> pass": (
        "it says how soon a stride pays again, which changes how fast it goes"
    ),
    "keymap.PlainKeyMap._noted: for number, (size, word) in "
    "enumerate(zip(keys.sizes, keys.words, strict=True), first_number): | True -> False": (
        "sizes and words are noted in pairs"
    ),
    "marking.Marking.__init__: self.keys = 0 | self.keys = 0 -> pass": _SET_LATER,
    "marking.Marking.__init__: self.keys = 0 | 0 -> 1": _SET_LATER,
    "marking.Marking.__init__: self._unkeyed_dirty = 0 | self._unkeyed_dirty = 0 -> pass": (
        _SET_LATER
    ),
    "marking.Marking.__init__: self._unkeyed_dirty = 0 | 0 -> 1": _SET_LATER,
    "stretches._largest_chunk: return max((after - before for before, after in "
    "pairwise(numbers)), default=0) | 0 -> 1": (
        "a log that is divided has chunks of one record at least"
    ),
    "survey.Survey._is_kept_if_empty: return False | return False -> return None": _FALSE,
    "fated.fated_batches: fates = dict(zip(chunk.positions, chunk.fates, strict=True))"
    " | True -> False": _STRICT,
    "fated.fated_batches: number, end = (chunk.first_number, 0) | 0 -> 1": (
        "where a chunk has no batch at all its first byte is none either"
    ),
    "rewrite.PlainRewriter.rewrite: counts.batches_kept += len(left) > 0 | 0 -> 1": (
        "what is left of a batch has 61 bytes at least"
    ),
    "rewrite._Keeping.kept: return [] | return [] -> return None": _FALSE,
    "rewrite._Keeping._stays: return False | return False -> return None": _FALSE,
}

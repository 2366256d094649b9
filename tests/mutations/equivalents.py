"""Mutants that change nothing, each with the reason why."""

from collections.abc import Mapping
from typing import Final

_STRICT: Final = "positions and fates are written down in pairs, so they are never more or fewer"
_FALSE: Final = "it is only asked whether it is true, and neither is"

EQUIVALENT: Final[Mapping[str, str]] = {
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

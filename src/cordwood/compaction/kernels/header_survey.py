"""A look at headers alone: how many records there are, and who may have a retention.

    words   where the look stands and what it has counted: the words L_ below
    flagged   positions of control batches, of those of transactions, of those asked for

It ends before what it leaves to the plain twin: an old message, a header that cannot be right.
"""

from typing import Final

from cordwood.records.kernels import layout as at
from cordwood.records.kernels.header_scan import kind_at
from cordwood.records.kernels.intrinsics import load_16, load_32, load_64, wrapping_sum
from cordwood.records.kernels.kernel_definition import (
    NOTHING,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT

L_POSITION: Final = 0
L_BATCHES: Final = 1
L_RECORDS: Final = 2
L_FLAGGED: Final = 3
SURVEY_WORDS: Final = 4


@inlined
def _holds(sorted_offsets: Words, offset: int) -> bool:
    """Whether an offset is one of those."""
    low, high = 0, len(sorted_offsets)
    while low < high:
        middle = (low + high) >> 1
        if sorted_offsets[middle] < offset:
            low = middle + 1
        else:
            high = middle
    return bool(low < len(sorted_offsets) and sorted_offsets[low] == offset)


@inlined
def _is_flagged(source: Bytes, position: int, last_offsets: Words) -> bool:
    """Whether a batch may have a retention."""
    if load_16(source, position + 21) & (CONTROL_BIT | TRANSACTIONAL_BIT):
        return True
    last = wrapping_sum(load_64(source, position), load_32(source, position + 23))
    return _holds(last_offsets, last)


@kernel(NOTHING, SOURCE, WORDS, WORDS.of(SURVEY_WORDS), WORDS)
def scan_headers(source: Bytes, last_offsets: Words, words: Words, flagged: Words) -> None:
    """Go over v2 batches from where the words stand, as long as there is room for notes."""
    position = words[L_POSITION]
    while words[L_FLAGGED] < len(flagged):
        kind = kind_at(source, position)
        if kind not in (at.PLAIN_RUN, at.PACKED_RUN):
            break
        if load_16(source, position + 21) & CONTROL_BIT == 0:
            count = load_32(source, position + 57)
            if count < 0:
                break
            words[L_RECORDS] += count
        if _is_flagged(source, position, last_offsets):
            flagged[words[L_FLAGGED]] = position
            words[L_FLAGGED] += 1
        words[L_BATCHES] += 1
        position += load_32(source, position + 8) + LOG_OVERHEAD
    words[L_POSITION] = position

"""Keys taken out of rows: noted as a key map notes them, then copied one behind the other."""

from cordwood.compaction.kernels.key_entries import SLOT_SIZE
from cordwood.compaction.kernels.key_learning import (
    BAD,
    DONE,
    FULL,
    K_DONE,
    K_NOTED,
    K_ROW,
    LEARNING_WORDS,
    N_KEY,
    N_SIZE,
    NOTE_WIDTH,
    note,
)
from cordwood.records.kernels.intrinsics import copy
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    SLAB,
    SOURCE,
    TABLE,
    WORDS,
    Bytes,
    Words,
    kernel,
)


@kernel(
    INT,
    SOURCE,
    BATCH_ROWS,
    WORDS.of(LEARNING_WORDS),
    TABLE.of(NOTE_WIDTH),
    SLAB.of(SLOT_SIZE),
)
def note_rows(source: Bytes, table: Words, words: Words, notes: Words, slots: Bytes) -> int:
    """Note records of rows, from the position in the words, while there is room; return the status.

    The slots are unused, so there are as few as possible.
    """
    words[K_NOTED] = words[K_DONE] = 0
    if not note(source, table, words, notes, slots):
        return BAD
    return DONE if words[K_ROW] == len(table) else FULL


@kernel(INT, SOURCE, TABLE.of(NOTE_WIDTH), SLAB)
def gather(source: Bytes, notes: Words, out: Bytes) -> int:
    """Copy the keys of notes, in the notes' order, as many as fit; return their size."""
    to = 0
    for place in range(len(notes)):
        key, size = notes[place, N_KEY], notes[place, N_SIZE] >> 1
        # The end of a key may be above 64 bits, and the compiler takes sums for exact.
        has_key = 0 <= key <= len(source) and 0 <= size <= len(source) - key
        if size > len(out) - to or not has_key:
            break
        copy(out, to, source, key, size)
        to += size
    return to

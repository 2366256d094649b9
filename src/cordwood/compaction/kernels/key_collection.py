"""Keys taken out of rows: noted as a key map notes them, then copied one behind the other."""

from cordwood.compaction.kernels.key_learning import (
    BAD,
    DONE,
    FULL,
    K_DONE,
    K_NOTED,
    K_ROW,
    N_KEY,
    N_SIZE,
    note,
)
from cordwood.records.kernels.intrinsics import copy
from cordwood.records.kernels.kernel_definition import (
    INT,
    NOTHING,
    SLAB,
    SOURCE,
    TABLE,
    WORDS,
    Bytes,
    Words,
    kernel,
)


@kernel(INT, SOURCE, TABLE, WORDS, TABLE, SLAB)
def note_rows(source: Bytes, table: Words, words: Words, notes: Words, slots: Bytes) -> int:
    """Note records of rows, from the position in the words, while there is room; return the status.

    The slots are unused, so there are as few as possible.
    """
    words[K_NOTED] = words[K_DONE] = 0
    if not note(source, table, words, notes, slots):
        return BAD
    return DONE if words[K_ROW] == len(table) else FULL


@kernel(NOTHING, SOURCE, TABLE, SLAB)
def gather(source: Bytes, notes: Words, out: Bytes) -> None:
    """Copy the keys of notes, in the notes' order."""
    to = 0
    for place in range(len(notes)):
        size = notes[place, N_SIZE] >> 1
        copy(out, to, source, notes[place, N_KEY], size)
        to += size

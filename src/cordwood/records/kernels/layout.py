"""Layout of the words that pass between Python and the kernels.

    table   one row per batch, written by `header_scan`, read by `chunk_fill`
    plan    the wanted columns of a run: the start of each in the slab (-1: not wanted), the
            bounds of a chunk, the ranges of the selection
    state   the progress of a run: batch, record, position, and the used part of the chunk

A chunk is one slab of bytes; every column is a slice of it.
"""

from typing import Final

# -- table: the header of a batch, and the range of its records
T_POSITION: Final = 0
T_BASE_OFFSET: Final = 1
T_LEADER_EPOCH: Final = 2
T_CRC: Final = 3
T_ATTRIBUTES: Final = 4
T_LAST_DELTA: Final = 5
T_BASE_TIMESTAMP: Final = 6
T_MAX_TIMESTAMP: Final = 7
T_PRODUCER_ID: Final = 8
T_PRODUCER_EPOCH: Final = 9
T_BASE_SEQUENCE: Final = 10
T_COUNT: Final = 11
T_DATA: Final = 12  # where the records begin, in the buffer or in the arena
T_DATA_END: Final = 13
T_ACTION: Final = 14
T_SIZE: Final = 15
TABLE_WIDTH: Final = 16

SKIP: Final = 0  # outside the selection: not read
ROWS: Final = 1
CHECK: Final = 2  # read and validated, no rows: control batches, aborted transactions

# -- scan: in and out
S_POSITION: Final = 0
S_START: Final = 1  # first offset that is wanted
S_LAST: Final = 2  # last offset that is wanted
S_MIN_TIMESTAMP: Final = 3
S_GROUP_BYTES: Final = 4
S_COUNT: Final = 5
S_KIND: Final = 6
S_STATUS: Final = 7
SCAN_WORDS: Final = 8

PLAIN_RUN: Final = 0  # v2, records as they lie
PACKED_RUN: Final = 1  # v2, compressed
LEGACY_RUN: Final = 2  # v0 and v1 messages, in one row of the table
WRAPPER_RUN: Final = 3  # v0 and v1, compressed: one a run

MORE: Final = 0
FINISHED: Final = 1  # the selection ends with this group
MALFORMED: Final = 2  # the bytes after this group are not a batch
CUT: Final = 3  # no whole batch is left, maybe no byte at all

# -- plan
P_OFFSET: Final = 0
P_TIMESTAMP: Final = 1
P_TIMESTAMP_TYPE: Final = 2
P_KEY: Final = 3  # int32 offsets, or views
P_KEY_BITS: Final = 4
P_KEY_DATA: Final = 5
P_VALUE: Final = 6
P_VALUE_BITS: Final = 7
P_VALUE_DATA: Final = 8
P_HEADERS: Final = 9  # int32 list offsets
P_HEADER_KEY: Final = 10
P_HEADER_KEY_DATA: Final = 11
P_HEADER_VALUE: Final = 12
P_HEADER_VALUE_BITS: Final = 13
P_HEADER_VALUE_DATA: Final = 14
P_LEADER_EPOCH: Final = 15
P_PRODUCER_ID: Final = 16
P_PRODUCER_EPOCH: Final = 17
P_SEQUENCE: Final = 18
COLUMN_WORDS: Final = 19
P_MAX_ROWS: Final = 19
P_MAX_BYTES: Final = 20
P_START: Final = 21
P_LAST: Final = 22
P_MIN_TIMESTAMP: Final = 23
P_MAX_TIMESTAMP: Final = 24
P_IS_VIEW: Final = 25
P_VIEW_BUFFER: Final = 26  # which of the chunk's data buffers the source is
P_VIEW_ORIGIN: Final = 27  # what position of the source is that buffer's first byte
P_IS_SPLIT: Final = 28  # a batch may be cut between two records
P_CHECK_CRC: Final = 29  # of v0 and v1 messages; v2 is checked before
P_MESSAGES_END: Final = 30  # where the messages of a legacy run end, in the source
P_IS_WRAPPED: Final = 31
P_BASE: Final = 32  # what to add to the offsets inside a wrapper
P_HIGHEST: Final = 33  # and how high they may be
P_IS_STAMPED: Final = 34  # inside, v1 has the wrapper's timestamp
P_STAMP: Final = 35
P_SLAB_BYTES: Final = 36  # the size of a slab with these columns
PLAN_WORDS: Final = 37

# -- state
F_BATCH: Final = 0
F_BATCHES: Final = 1
F_RECORD: Final = 2
F_POSITION: Final = 3
F_LAST_DELTA: Final = 4
F_IN_BLOCK: Final = 5  # finished records of the block that begins at F_POSITION
F_ROWS: Final = 6
F_BYTES: Final = 7
F_KEY_BYTES: Final = 8
F_VALUE_BYTES: Final = 9
F_HEADERS: Final = 10
F_HEADER_KEY_BYTES: Final = 11
F_HEADER_VALUE_BYTES: Final = 12
F_KEY_NULLS: Final = 13
F_VALUE_NULLS: Final = 14
F_HEADER_NULLS: Final = 15
F_NEEDED: Final = 16
SAVED: Final = 17  # the same words as they were when the batch was begun
STATE_WORDS: Final = 34
FIRST_COUNTER: Final = F_ROWS  # F_ROWS .. F_HEADER_NULLS are one chunk's
COUNTERS_END: Final = F_NEEDED

# -- how a fill ends
DONE: Final = 0
FULL: Final = 1  # yield the chunk, then continue at the state's position
OVERSIZE: Final = 2  # one batch fills more than a chunk: check it whole, then allow it to be split
GROW: Final = 3  # one record is larger than a chunk: F_NEEDED is its size
BAD: Final = 4  # batch F_BATCH is invalid

#: Each header counts this in addition to its bytes, so that empty headers are bounded too.
HEADER_COST: Final = 16
#: The bytes of one wide copy.
WIDE: Final = 32
#: Room after each stretch of data, so that wide copies may write past the end of a value.
SLACK: Final = 2 * WIDE

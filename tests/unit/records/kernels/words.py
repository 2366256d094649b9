"""Plans, states and sources for the tests of single kernels."""

import numpy as np

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.decoder import ReadRequest
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.chunk_builder import ChunkBuilder
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.kernels.slab_pool import SlabPool


def source_of(data: bytes | bytearray) -> Bytes:
    """Bytes as kernels see them."""
    return read_only(bytes(data))


def empty_state() -> Words:
    """The state of a chunk that has been begun."""
    return np.zeros(at.STATE_WORDS, np.int64)


def empty_table(rows: int = 8) -> Words:
    """A table in which nothing has been scanned."""
    return np.zeros((rows, at.TABLE_WIDTH), np.int64)


def scan_words(
    *, first: int = 0, last: int = INT64_MAX, earliest: int = INT64_MIN, group: int = 1 << 20
) -> Words:
    """Return the state of a scan before the first run."""
    state: Words = np.zeros(at.SCAN_WORDS, np.int64)
    state[at.S_START], state[at.S_LAST] = first, last
    state[at.S_MIN_TIMESTAMP], state[at.S_GROUP_BYTES] = earliest, group
    return state


def canvas_of(request: ReadRequest) -> ChunkBuilder:
    """The first chunk of a reading."""
    return ChunkBuilder(request, SlabPool())

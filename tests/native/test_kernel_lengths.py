"""Kernels reject rows and arrays that are too short for each other: each reads only its arguments.

Run against the library; interpreted, an access outside of an array would raise IndexError.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

from cordwood.compaction.engine.key_sketch import REGISTERS
from cordwood.compaction.kernels import (
    batch_runs,
    key_collection,
    key_learning,
    key_map_resizing,
    key_sketch,
    proof_batches,
    proof_keys,
    proof_rows,
    row_output,
    row_verdicts,
)
from cordwood.compaction.kernels.key_entries import ENTRY_HEADER
from cordwood.core.binary import INT64_MAX
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.kernels import (
    batch_checks,
    chunk_fill,
    crc32c,
    header_scan,
    legacy_messages,
    record_checks,
    record_encoder,
    record_lines,
    record_lookup,
    state_scan,
    tail_scan,
)
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.block import new_block
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.record_batch import TRANSACTIONAL_BIT
from cordwood.records.record_encoder import ANY_PARTITION

SOURCE: Final = read_only(bytes(100))
NOTHING: Final = read_only(b"")
FAR: Final = 1 << 20
needs_instruction = pytest.mark.skipif(
    crc32c.first_wrong is not crc32c.first_wrong_by_instruction,
    reason="this processor has no instruction for CRC-32C",
)


def words(size: int, **values: int) -> Words:
    """Return words; `w3=7` sets the word 3."""
    made = np.zeros(size, np.int64)
    for name, value in values.items():
        made[int(name[1:])] = value
    return made


def slab(size: int) -> Bytes:
    return np.zeros(size, np.uint8)


def rows(*, begin: int = 0, end: int = 100, count: int = 1, number: int = 0) -> Words:
    """Return a row of a table, for a batch with these bounds."""
    table = np.zeros((1, at.TABLE_WIDTH), np.int64)
    table[0, at.T_POSITION], table[0, at.T_DATA], table[0, at.T_DATA_END] = begin, begin, end
    table[0, at.T_COUNT], table[0, at.T_CRC] = count, number
    table[0, at.T_ACTION] = at.ROWS
    return table


def transactional_batch() -> Bytes:
    builder = BatchBuilder(BatchFields(producer_id=1, producer_epoch=0, base_sequence=0))
    builder.append(b"k", b"v", timestamp=1)
    data = bytearray(builder.build())
    data[22] |= TRANSACTIONAL_BIT
    return read_only(data)


@needs_instruction
@pytest.mark.parametrize("table", (rows(end=FAR), rows(begin=-1), rows(begin=60)))
def test_checksum_of_a_batch_outside_of_the_source_is_wrong(table: Words) -> None:
    assert crc32c.first_wrong_by_instruction(SOURCE, table, 1) == 0


@needs_instruction
def test_checksums_end_with_the_table() -> None:
    assert crc32c.first_wrong_by_instruction(SOURCE, rows()[:0], FAR) == FAR
    crc32c.seal_by_instruction(slab(10), rows()[:0], FAR)


@needs_instruction
@pytest.mark.parametrize("table", (rows(end=FAR), rows(begin=-1), rows(begin=60)))
def test_batch_outside_of_the_slab_gets_no_checksum(table: Words) -> None:
    written = slab(100)

    crc32c.seal_by_instruction(written, table, 1)

    assert not written.any()


@pytest.mark.parametrize("table", (rows(end=FAR), rows(begin=-1), rows(begin=90, end=80)))
def test_records_outside_of_the_source_are_invalid(table: Words) -> None:
    state = words(at.STATE_WORDS, w1=1, w3=-1)
    canvas = slab(0), words(at.PLAN_WORDS), state

    assert batch_checks.walk_rows(SOURCE, table, words(batch_checks.V_WORDS)) == 0
    assert chunk_fill.fill(SOURCE, table, new_block(), *canvas) == at.BAD


def test_columns_of_a_larger_slab_are_not_written() -> None:
    plan = words(at.PLAN_WORDS)
    plan[at.P_SLAB_BYTES], plan[at.P_MESSAGES_END] = 101, 100
    state = words(at.STATE_WORDS, w1=1, w3=-1)

    assert chunk_fill.fill(SOURCE, rows(), new_block(), slab(100), plan, state) == at.BAD
    state[at.F_POSITION] = 0
    assert legacy_messages.fill_messages(SOURCE, slab(100), plan, state) == at.BAD


def test_fill_ends_with_the_table() -> None:
    state = words(at.STATE_WORDS)
    state[at.F_BATCHES] = FAR
    plan = words(at.PLAN_WORDS)

    assert chunk_fill.fill(SOURCE, rows()[:0], new_block(), slab(0), plan, state) == at.DONE


@pytest.mark.parametrize("bounds", ((0, 101), (-1, 100), (60, 50)))
def test_range_outside_of_the_source_is_invalid(bounds: tuple[int, int]) -> None:
    lines = words(record_lines.WORD_COUNT)
    question = words(record_lookup.QUESTION_WORDS)
    plan, state = words(at.PLAN_WORDS), words(at.STATE_WORDS)
    state[at.F_POSITION], plan[at.P_MESSAGES_END] = bounds

    assert record_checks.read_through(SOURCE, *bounds, 0, 0, 0)[0] == -1
    assert record_lookup.find_record(SOURCE, *bounds, question)[0] == -1
    assert record_lines.write_lines(SOURCE, *bounds, lines, slab(FAR), words(2))[0] == -1
    assert legacy_messages.fill_messages(SOURCE, slab(0), plan, state) == at.BAD
    assert legacy_messages.last_message(SOURCE, *bounds) == (-1, 0)


@pytest.mark.parametrize(("out", "gaps"), ((FAR, 1), (record_lines.LONGEST_LINE, 2)))
def test_lines_without_room_are_not_written(out: int, gaps: int) -> None:
    lines = words(record_lines.WORD_COUNT)
    lines[record_lines.N_COUNT] = 1

    assert record_lines.write_lines(SOURCE, 0, 100, lines, slab(out), words(gaps))[0] == -1


@pytest.mark.parametrize("short", (0, 1, 2))
def test_scan_of_states_stops_at_the_shortest_table(short: int) -> None:
    first, second, third = (
        np.zeros((0 if short == place else 9, 2 + place % 2), np.int64) for place in range(3)
    )
    state = words(state_scan.SCAN_WORDS)
    state[state_scan.W_END] = FAR

    ended = state_scan.scan_states(transactional_batch(), first, second, third, state)

    assert ended == state_scan.FULL


def test_flags_end_with_the_offsets() -> None:
    flags = np.full(3, 9, np.uint8)

    state_scan.mark_transactional(read_only(bytes(8)), np.zeros((1, 2), np.int64), 0, flags)

    assert flags.tolist() == [1, 9, 9]


def test_range_of_the_next_offset_is_not_before_the_first() -> None:
    ranges = np.array([[0, 3]], np.int64)

    assert state_scan.mark_transactional(read_only(bytes(8)), ranges, -1, slab(1)) == 0


@pytest.mark.parametrize("short", range(11))
def test_columns_that_differ_in_length_are_rejected(short: int) -> None:
    """The columns of bytes, which hold no starts, may be empty."""
    two, data = read_only(bytes(16)), (2, 5, 10, 13)
    columns = [NOTHING if place in data else two for place in range(14)]
    places = [place for place in range(14) if place not in data]
    names = min(short, 9)
    columns[places[names]] = read_only(bytes(8))
    keys, values, headers = tuple(columns[:3]), tuple(columns[3:6]), tuple(columns[6:14])
    first = -1 if short == 10 else 0

    found = record_encoder.write_records(keys, values, headers, (two, two), first, slab(99))  # type: ignore[arg-type]  # tuples of this length

    is_only_shorter = places[names] == 9  # the number of headers is that of the sizes of keys
    assert found == ((2, 14, 0) if is_only_shorter and first == 0 else (first, -1, 0))


def test_partitions_need_a_key_for_each() -> None:
    two, found = read_only(bytes(16)), slab(24)

    assert record_encoder.choose_partitions((two, two, NOTHING), 1, found) == 0
    assert ANY_PARTITION not in found.view(np.int64)


def test_stride_without_slots_takes_no_row() -> None:
    state = words(tail_scan.STRIDE_WORDS, w1=FAR)
    slots = np.zeros((tail_scan.SLOTS - 1, tail_scan.SLOT_WIDTH), np.int64)
    entries = np.zeros((9, tail_scan.ENTRY_WIDTH), np.int64)

    assert tail_scan.stride_rows(rows(), state, slots, words(99), entries) == 0


def test_registers_of_keys_outside_of_their_bytes_stay() -> None:
    registers = slab(REGISTERS)
    starts = np.array([0, FAR], np.int32)
    starts.flags.writeable = False

    key_sketch._add(registers, starts, SOURCE)  # noqa: SLF001  # the kernel

    assert not registers.any()


def test_batch_without_a_retention_has_none() -> None:
    table = rows(begin=7)

    batch_runs.number_rows(table, words(1, w0=7), words(0), words(batch_runs.RUN_WORDS, w2=9))

    assert table[0, batch_runs.T_RETENTION] == 0


def go_over(table: Words, *, slots: int = 64, arena: int = 200, marks: int = 1) -> int:
    """Learn the records of a table from a batch with one record."""
    state = words(key_learning.LEARNING_WORDS, w2=-1, w6=1, w8=FAR, w11=-1, w13=9)
    state[key_learning.K_MOST_BYTES] = FAR
    notes = np.zeros((9, key_learning.NOTE_WIDTH), np.int64)
    bits = slab(marks), slab(marks)
    memory = slab(slots), slab(arena)
    return key_learning.go_over(transactional_batch(), table, state, notes, memory, bits)


def learnable(**changes: int) -> Words:
    """Return the row of the batch's record; `w11=2` sets the word 11."""
    table = rows(begin=61, end=len(transactional_batch()))
    table[0, at.T_ACTION] = 0
    for name, value in changes.items():
        table[0, int(name[1:])] = value
    return table


def test_record_is_learnt() -> None:
    assert go_over(learnable()) == key_learning.DONE


@pytest.mark.parametrize("changes", ({"w3": 8}, {"w13": FAR}, {"w12": -1}, {"w3": -1}))
def test_row_outside_of_source_or_marks_is_not_learnt(changes: dict[str, int]) -> None:
    assert go_over(learnable(**changes)) == key_learning.BAD


@pytest.mark.parametrize(
    ("sizes", "ended"),
    (({"slots": 0}, key_learning.BAD), ({"arena": ENTRY_HEADER}, key_learning.FULL)),
)
def test_key_map_ends_with_its_memory(sizes: dict[str, int], ended: int) -> None:
    assert go_over(learnable(), **sizes) == ended


@pytest.mark.parametrize(("out", "key"), ((4, 0), (5, 96), (5, -1), (5, INT64_MAX)))
def test_keys_without_room_or_bytes_are_not_gathered(out: int, key: int) -> None:
    notes = np.array([[key, 5 << 1, 0, 0]], np.int64)

    assert key_collection.gather(SOURCE, notes, slab(out)) == 0


def test_arena_ends_with_its_bytes() -> None:
    state = words(key_learning.LEARNING_WORDS, w14=FAR)

    key_map_resizing.fill_slots(state, slab(64), slab(0))
    assert key_map_resizing.mark_learnt(state, slab(0), slab(1), 9) == 0
    key_map_resizing.forget_others(state, slab(0))

    assert state[key_learning.K_USED] == 0


def test_number_without_a_mark_is_not_marked() -> None:
    arena = slab(ENTRY_HEADER)
    arena.view(np.uint8)[0] = 8
    state = words(key_learning.LEARNING_WORDS, w14=ENTRY_HEADER)

    assert key_map_resizing.mark_learnt(state, arena, slab(1), FAR) == 0


@pytest.mark.parametrize("number", (8, -1))
def test_row_without_marks_is_left_to_the_plain_twin(number: int) -> None:
    table, marks = rows(number=number), (slab(1), slab(1))
    table[0, at.T_ACTION] = 0

    row_verdicts.judge_rows(table, marks, 0, words(row_verdicts.COUNT_WORDS))

    assert table[0, at.T_ACTION] == row_verdicts.PLAIN


@pytest.mark.parametrize(
    "table",
    (
        rows(begin=-1),
        rows(begin=40),
        rows(begin=0, end=101),
        rows(begin=0, end=100, number=8),
    ),
)
def test_row_outside_of_its_arrays_is_not_written(table: Words) -> None:
    state, marks = words(row_output.WRITING_WORDS), (slab(1), slab(1))

    assert row_output.write_rows(SOURCE, SOURCE, table, marks, state, slab(999)) == 0
    assert state[row_output.W_ENDED] == row_output.BAD


def test_keys_of_a_proof_end_with_their_memory() -> None:
    state = words(proof_rows.ROWS_WORDS, w2=9, w3=FAR)

    taken = proof_keys.see_one(proof_keys.IS_LEARNT, SOURCE, 0, 0, state, words(8), slab(100))
    state[proof_keys.V_USED] = FAR

    assert taken == -1
    assert proof_keys.fill_slots(state, words(8), slab(0)) == 0
    assert proof_keys.settle(state, slab(0), words(1)) == 0


@pytest.mark.parametrize("bounds", ((0, 101), (-1, 100)))
def test_batch_outside_of_the_source_is_not_proven(bounds: tuple[int, int]) -> None:
    state = words(proof_rows.ROWS_WORDS)
    notes, memory = np.zeros((9, proof_batches.NOTE_WIDTH), np.int64), (words(8), slab(100))
    state[proof_batches.V_POSITION], state[proof_batches.V_END] = bounds
    assert proof_batches.learn_batch(SOURCE, state, notes, *memory) == proof_batches.WRONG
    assert proof_batches.judge_batch(SOURCE, SOURCE, state, notes, *memory) == proof_batches.WRONG

    state[proof_batches.V_POSITION], state[proof_batches.V_END] = 0, 0
    state[proof_batches.V_LEFT_POSITION], state[proof_batches.V_LEFT_END] = bounds
    assert proof_batches.judge_batch(SOURCE, SOURCE, state, notes, *memory) == proof_batches.WRONG


@pytest.mark.parametrize(("size", "left_size"), ((50, 100), (100, 50)))
def test_batches_are_compared_inside_of_their_sources(size: int, left_size: int) -> None:
    table, left_table = rows(), rows()
    table[0, at.T_SIZE] = left_table[0, at.T_SIZE] = 100
    state = words(proof_rows.ROWS_WORDS)
    state[proof_rows.V_MAY_MATCH] = 1
    notes, memory = np.zeros((9, proof_batches.NOTE_WIDTH), np.int64), (words(8), slab(100))
    lasts = np.zeros((0, 2), np.int64)

    ended = proof_rows.judge_rows(
        SOURCE[:size], table, SOURCE[:left_size], left_table, lasts, state, notes, *memory
    )

    assert ended == proof_rows.ANOTHER


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    (
        (header_scan.scan, (SOURCE, rows(), words(at.SCAN_WORDS - 1))),
        (header_scan.scan, (SOURCE, np.zeros((1, at.TABLE_WIDTH - 1), np.int64), words(9))),
        (key_sketch._add, (slab(9), np.zeros(1, np.int32), SOURCE)),  # noqa: SLF001  # the kernel
        (batch_checks.add_rows, (rows(), words(batch_checks.V_WORDS - 1))),
    ),
)
@pytest.mark.skipif(not header_scan.scan.__name__.count("."), reason="kernels are interpreted")
def test_array_below_its_size_is_rejected(
    kernel: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    with pytest.raises(ValueError, match="is expected"):
        kernel(*arguments)

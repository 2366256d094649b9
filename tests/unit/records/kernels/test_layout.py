"""The words between Python and the kernels: no two share a place, all of them have one."""

from cordwood.records import decoder
from cordwood.records.kernels import layout


def words(prefix: str) -> list[int]:
    return [value for name, value in vars(layout).items() if name.startswith(prefix)]


def test_each_word_of_the_layout_has_its_own_index() -> None:
    sizes = {
        "T_": layout.TABLE_WIDTH,
        "S_": layout.SCAN_WORDS,
        "P_": layout.PLAN_WORDS,
        "F_": layout.SAVED,
    }

    for prefix, size in sizes.items():
        assert sorted(words(prefix)) == list(range(size))


def test_saved_state_follows_the_state() -> None:
    assert layout.STATE_WORDS >= layout.SAVED + layout.F_NEEDED
    assert layout.COUNTERS_END <= layout.SAVED


def test_layout_keeps_starts_bits_and_data_together() -> None:
    for first, *others in (
        (layout.P_KEY, layout.P_KEY_BITS, layout.P_KEY_DATA),
        (layout.P_VALUE, layout.P_VALUE_BITS, layout.P_VALUE_DATA),
        (layout.P_HEADER_VALUE, layout.P_HEADER_VALUE_BITS, layout.P_HEADER_VALUE_DATA),
    ):
        assert others == [first + 1, first + 2]


def test_layout_counts_a_header_as_the_chunks_do() -> None:
    assert layout.HEADER_COST == decoder.HEADER_COST

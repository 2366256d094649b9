"""Tables of text have columns of equal width."""

from cordwood.cli.table_lines import table_lines


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    assert table_lines(("Id", "State"), [("orders", "Ongoing"), ("x", "Empty")]) == [
        "Id      State",
        "orders  Ongoing",
        "x       Empty",
    ]


def test_table_without_rows_has_its_titles() -> None:
    assert table_lines(("Id", "State"), []) == ["Id  State"]

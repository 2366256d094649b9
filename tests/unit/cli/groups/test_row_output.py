"""Rows are printed as a table or as JSON."""

import pytest

from cordwood.cli.groups.row_output import json_lines, print_rows, text_lines

ROWS = [{"GROUP": "billing", "CURRENT-OFFSET": None, "COORDINATOR (ID)": "a:1 (1)", "#MEMBERS": 2}]


def test_table_shows_a_dash_for_none() -> None:
    assert text_lines(ROWS) == [
        "GROUP    CURRENT-OFFSET  COORDINATOR (ID)  #MEMBERS",
        "billing  -               a:1 (1)           2",
    ]


def test_json_has_fields_in_lower_case() -> None:
    assert json_lines(ROWS) == [
        '{"group": "billing", "current_offset": null, "coordinator": "a:1 (1)", "members": 2}'
    ]


def test_rows_are_printed_without_titles_on_request(capfd: pytest.CaptureFixture[str]) -> None:
    print_rows([{"GROUP": "a"}, {"GROUP": "b"}], as_json=False, has_titles=False)
    print_rows([], as_json=False)

    assert capfd.readouterr().out == "a\nb\n"

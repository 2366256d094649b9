"""Rows are printed as a table or as JSON."""

import pytest

from cordwood.cli.row_output import json_lines, print_rows, text_lines

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


def test_titles_are_printed_alone_without_rows(capfd: pytest.CaptureFixture[str]) -> None:
    print_rows([], as_json=False, titles=("ProducerId", "Duration(min)"))
    print_rows([], as_json=True, titles=("ProducerId", "Duration(min)"))

    assert capfd.readouterr().out == "ProducerId  Duration(min)\n"


def test_fields_have_underscores_between_words() -> None:
    row = {"CurrentTransactionStartTimeMs": 1, "Duration(min)": 2, "LEADER-EPOCH": 3}

    assert json_lines([row]) == [
        '{"current_transaction_start_time_ms": 1, "duration_min": 2, "leader_epoch": 3}'
    ]

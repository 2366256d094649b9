"""An unknown command is answered with the command that does the same, or with the reason."""

import pytest

from cordwood.cli.program import FAMILIES
from cordwood.cli.usage.kafka_commands import ANSWERS, COMMANDS, answer_unknown


@pytest.mark.parametrize(
    ("typed", "meant"),
    (
        ("consumer-groups", "groups"),
        ("kafka-console-consumer.sh", "consume"),
        ("kafka-topics", "topics"),
        ("start", "serve"),
        ("sevre", "serve"),
        ("topcs", "topics"),
    ),
)
def test_command_that_may_be_meant_is_named(typed: str, meant: str) -> None:
    answer = answer_unknown(typed, FAMILIES)

    assert answer == f"there is no command '{typed}'. Did you mean 'cordwood {meant}'?"


def test_feature_that_is_missing_is_answered_in_words() -> None:
    assert "ACLs are not implemented" in answer_unknown("kafka-acls.sh", FAMILIES)


def test_word_unlike_any_command_is_answered_with_all_of_them() -> None:
    answer = answer_unknown("zzzzzz", FAMILIES)

    assert all(f" {each}" in answer for each in FAMILIES)


def test_table_leads_to_commands_that_exist_from_names_that_do_not() -> None:
    assert {each.split()[0] for each in COMMANDS.values()} <= {*FAMILIES}
    assert not {*COMMANDS, *ANSWERS} & {*FAMILIES}

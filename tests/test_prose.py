"""Prose rules are seen to fail: `scripts/prose.py` names each planted sentence."""

from pathlib import Path

import pytest

from scripts import prose

ROOT = Path(__file__).parents[1]

PLANTED = {
    "begins with What": '"""A module."""\n\n\ndef f():\n    """What a log holds."""\n',
    "begins with Nobody": '"""A module. Nobody reads it."""\n',
    "anew -> again": '"""A module."""\n# The index is built anew.\n',
    "told -> notifies": '"""A module."""\nraise ValueError("the reader is told of it")\n',
    "is no -> is not a": '"""A module. A reader is no owner."""\n',
    "a module opens with a noun phrase": '"""Which logs are cleaned."""\n',
    "40 words in a sentence": '"""A ' + "long " * 38 + 'sentence."""\n',
}


@pytest.mark.parametrize("finding", sorted(PLANTED))
def test_planted_sentence_is_found(finding: str) -> None:
    found = [each.text for each in prose.check_python(PLANTED[finding], path="planted.py")]

    assert any(text.startswith(finding) for text in found), found


@pytest.mark.parametrize(
    "text",
    (
        '"""Candidates for cleaning (Kafka: `LogToClean`)."""\n',
        '"""A module. There is no spill file, and the log is no longer read."""\n',
        '"""A module."""\nNAME = "beside"\n',
        '"""A module.\n\nThe method `told` is code.\n"""\n',
        '"""A module.\n\n    what stands in a table    is left out\n"""\n',
    ),
)
def test_plain_sentence_passes(text: str) -> None:
    assert list(prose.check_python(text, path="plain.py")) == []


def test_markdown_is_read_without_its_code() -> None:
    text = "# Title\nA page.\n\n```\nwhoever\n```\n\n| cell | a reader is told |\n|---|---|\n"

    found = list(prose.check_markdown(text))

    assert [(each.line, each.text.split(" ")[0]) for each in found] == [(8, "told")]


def test_question_may_start_with_what() -> None:
    assert list(prose.check_prose("What is a log?", line=1)) == []

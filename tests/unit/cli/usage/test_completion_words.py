"""A shell completes commands, verbs, options and choices; other words are left to it."""

import pytest

from cordwood.cli import serve
from cordwood.cli.program import FAMILIES, run


def suggestions(capsys: pytest.CaptureFixture[str], line: str) -> list[str]:
    """Return the words that are offered for the last one of a line."""
    run(["completion", "words", "--", *line.split(" ")])
    return [each.partition("\t")[0] for each in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("line", "offered"),
    (
        ("top", ["topics"]),
        ("--v", ["--version"]),
        ("topics de", ["describe", "delete", "delete-records"]),
        ("topics create --part", ["--partitions"]),
        ("topics create --placement ", ["cluster", "textbook"]),
        ("topics create --placement = t", ["textbook"]),
        ("produce --acks a", ["all"]),
        ("produce orders --acks 1 --command-", ["--command-property", "--command-config"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("serve --d", ["--data", "--debug"]),
        ("groups reset-offsets --to-e", ["--to-earliest"]),
        ("produce --file ", []),
        ("consume ord", []),
        ("nothing at", []),
        ("topics nothing --", []),
    ),
)  # fmt: skip
def test_words_are_offered(
    line: str, offered: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert suggestions(capsys, line) == offered


def test_first_word_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert suggestions(capsys, "") == [*FAMILIES]


@pytest.mark.parametrize("family", sorted({*FAMILIES}))
def test_each_command_has_words(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--help" in suggestions(capsys, f"{family} --h")


def test_options_of_serve_are_those_of_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        serve.serve(["--help"])

    text = capsys.readouterr().out
    assert all(f" {each}" in text for each in serve.OPTIONS)
    assert text.count("\n  -") == len(serve.OPTIONS)

"""The list of Spark commands."""

import pytest

from cordwood.cli.program import application


def test_family_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        application(["spark"])(["spark", "--help"])

    assert "verify" in capsys.readouterr().out

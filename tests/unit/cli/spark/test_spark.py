"""The list of Spark commands."""

import pytest

from cordwood.cli.program import app


def test_family_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app(["spark", "--help"])

    assert "verify" in capsys.readouterr().out

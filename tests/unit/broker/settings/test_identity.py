"""Tests of the settings of a broker's identity."""

from cordwood.broker.settings.identity import ALIASES, IDENTITY
from cordwood.core.settings import SettingSource


def test_old_names_are_used_unless_the_new_ones_are_set() -> None:
    found = IDENTITY.resolve(
        [SettingSource("x", {"broker.id": "7", "log.dir": "/a", "log.dirs": "/b"})]
    )

    assert found["node.id"].value == 7
    assert found["log.dirs"].value == ("/b",)


def test_older_names_have_declarations_of_their_own() -> None:
    assert [each.name for each in ALIASES] == ["broker.id", "log.dir"]

"""Names of a broker and of its directories."""

from cordwood.broker.settings.identity import IDENTITY
from cordwood.core.settings import Source


def test_older_names_are_read_where_the_newer_are_not_given() -> None:
    found = IDENTITY.resolve([Source("x", {"broker.id": "7", "log.dir": "/a", "log.dirs": "/b"})])

    assert found["node.id"].value == 7
    assert found["log.dirs"].value == ("/b",)

"""Tests of the settings without an effect."""

from cordwood.broker.settings.ignored import find_ignore_reason, ignored_by_reason


def test_ignored_key_has_a_reason() -> None:
    assert find_ignore_reason("num.io.threads") == (
        "one thread handles requests, and a pool runs blocking calls"
    )
    assert find_ignore_reason("num.partitions") is None


def test_ignored_prefix_matches_all_names_under_it() -> None:
    assert find_ignore_reason("remote.log.reader.threads") == "remote storage is not supported"
    assert find_ignore_reason("remote") is None


def test_ignored_are_listed_by_their_reasons() -> None:
    assert ("the broker stores its own metadata", ("zookeeper.",)) in ignored_by_reason()

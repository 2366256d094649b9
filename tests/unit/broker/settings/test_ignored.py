"""What is accepted and has no effect."""

from cordwood.broker.settings.ignored import ignored, why_ignored


def test_ignored_key_has_a_reason() -> None:
    assert why_ignored("num.io.threads") == "one thread serves, and others do what blocks"
    assert why_ignored("num.partitions") is None


def test_ignored_beginning_stands_for_all_that_begins_so() -> None:
    assert why_ignored("remote.log.reader.threads") == "remote storage is not served"
    assert why_ignored("remote") is None


def test_ignored_are_listed_by_their_reasons() -> None:
    assert ("one node keeps its own metadata", ("zookeeper.",)) in ignored()

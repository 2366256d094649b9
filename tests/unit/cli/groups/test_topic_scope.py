"""Topics of a command, each perhaps with its partitions."""

import pytest
import typer

import cordwood
from cordwood.cli.groups.topic_scope import parse_topics, partitions_in
from cordwood.core.errors import UnknownTopicOrPartitionError


def test_topics_have_all_or_some_partitions() -> None:
    assert parse_topics(["a", "b:0,2", "b:1"]) == {"a": [], "b": [0, 2, 1]}


@pytest.mark.parametrize("text", ("", ":1", "a:", "a:x", "a:-1"))
def test_unusable_topic_is_rejected(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a topic"):
        parse_topics([text])


def test_partitions_are_those_of_the_cluster(bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        for name in ("a", "b"):
            admin.create_topic(name, partitions=2)

        assert partitions_in(admin, ["b:1,1", "a"]) == [("a", 0), ("a", 1), ("b", 1)]
        with pytest.raises(UnknownTopicOrPartitionError, match="has no partition 2"):
            partitions_in(admin, ["a:2"])
        with pytest.raises(UnknownTopicOrPartitionError, match="'c' does not exist"):
            partitions_in(admin, ["c:0"])

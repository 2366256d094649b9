"""Conversions between pairs and partitions."""

import pytest

from cordwood.client.topic_partitions import by_topic, partitions_of
from cordwood.core.errors import InvalidRequestError


def test_partitions_are_grouped_by_topic_in_order() -> None:
    a0, b0, a1 = partitions_of([("a", 0), ("b", 0), ("a", 1)])

    assert by_topic([a0, b0, a1]) == {"a": [a0, a1], "b": [b0]}
    assert str(a1) == "a-1"


@pytest.mark.parametrize("mistake", ("orders", ["orders"], ("orders", 0)))
def test_topic_name_in_place_of_a_pair_is_rejected(mistake: object) -> None:
    with pytest.raises(InvalidRequestError, match="list of pairs"):
        partitions_of(mistake)  # type: ignore[arg-type]  # wrong on purpose

"""Tests of the protocol of shards."""

from typing import TYPE_CHECKING

from tests.unit.coordination.runtime.runtime_samples import CountingShard

if TYPE_CHECKING:
    from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard


def test_fake_shard_has_the_methods_of_the_protocol() -> None:
    shard: CoordinatorShard = CountingShard()

    assert shard.finish_load(5).records == []

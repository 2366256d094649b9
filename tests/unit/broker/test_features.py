"""A broker without features says so in a way that clients believe."""

from cordwood.broker.features import Features


def test_features_of_a_cluster_that_agreed_on_nothing_are_believed() -> None:
    features = Features()

    assert (features.supported, features.finalized) == ({}, {})
    assert features.epoch >= 0

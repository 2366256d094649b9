"""Keys are ordered by bucket, and the latest key of a bucket comes first."""

from cordwood.workbench.dump.hash_map_order import hash_map_order


def test_keys_are_ordered_by_bucket_and_the_latest_comes_first() -> None:
    assert hash_map_order(["b", "a", "q"]) == ["q", "a", "b"]


def test_large_map_has_a_larger_table() -> None:
    """The table of 16 buckets holds 13 keys; from the 14th key on there is one of 32."""
    keys = [chr(65 + at) for at in range(16)]

    assert hash_map_order(keys[:13])[0] == "A"
    assert hash_map_order([*keys[:12], "P", "@"]) == ["@", *keys[:12], "P"]
    assert hash_map_order([*keys[:11], "P", "@"])[:2] == ["@", "P"]

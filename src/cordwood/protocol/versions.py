"""Choice of an API version: the newest one that both sides support (Java: `NodeApiVersions`).

A range is first and last version, inclusive. A peer that does not list an API does not support it.
"""

from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.apis import Api


def choose_version(api: Api, *, ours: tuple[int, int], theirs: tuple[int, int] | None) -> int:
    """Return the newest version in both ranges; UnsupportedVersionError if they do not overlap."""
    if theirs is None:
        raise UnsupportedVersionError(f"the broker does not support {api.name}")
    version = min(ours[1], theirs[1])
    if version < max(ours[0], theirs[0]):
        raise UnsupportedVersionError(
            f"{api.name}: the broker supports versions {theirs[0]} to {theirs[1]},"
            f" this side {ours[0]} to {ours[1]}"
        )
    return version

"""Which version two sides speak: the newest that both of them know.

A range is first and last, inclusive. A peer that does not list an API does not have it.
"""

from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.apis import Api


def choose_version(api: Api, *, ours: tuple[int, int], theirs: tuple[int, int] | None) -> int:
    """Return the newest version in both ranges; UnsupportedVersionError where there is none."""
    if theirs is None:
        raise UnsupportedVersionError(f"the broker does not have {api.name}")
    version = min(ours[1], theirs[1])
    if version < max(ours[0], theirs[0]):
        raise UnsupportedVersionError(
            f"{api.name}: the broker has versions {theirs[0]} to {theirs[1]},"
            f" this side {ours[0]} to {ours[1]}"
        )
    return version

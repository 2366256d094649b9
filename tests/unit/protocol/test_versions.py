"""Choice of the newest common version."""

import pytest

from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.apis import APIS
from cordwood.protocol.versions import choose_version

FETCH = APIS[1]


@pytest.mark.parametrize(("theirs", "chosen"), (((0, 11), 11), ((4, 18), 18), ((4, 30), 18)))
def test_choice_is_the_newest_of_both(theirs: tuple[int, int], chosen: int) -> None:
    assert choose_version(FETCH, ours=(4, 18), theirs=theirs) == chosen


@pytest.mark.parametrize("theirs", ((0, 3), (19, 20)))
def test_version_choice_fails_when_ranges_do_not_overlap(theirs: tuple[int, int]) -> None:
    with pytest.raises(UnsupportedVersionError, match=f"versions {theirs[0]} to {theirs[1]}"):
        choose_version(FETCH, ours=(4, 18), theirs=theirs)


def test_version_choice_fails_when_the_peer_lacks_the_api() -> None:
    with pytest.raises(UnsupportedVersionError, match="does not support Fetch"):
        choose_version(FETCH, ours=(4, 18), theirs=None)

"""What is made to stay is out of the garbage collector's sight, and all else is in it."""

import gc
from collections.abc import Iterator

import pytest

from cordwood.broker.collecting import made_to_stay


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_nothing_is_collected_while_it_is_made() -> None:
    with made_to_stay():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_collector_does_not_look_at_what_stays() -> None:
    with made_to_stay():
        staying: list[object] = []
    later: list[object] = []

    looked_at = {id(each) for each in gc.get_objects()}

    assert id(staying) not in looked_at
    assert id(later) in looked_at


def test_collector_goes_on_when_making_fails() -> None:
    with pytest.raises(OSError, match="no disk"), made_to_stay():
        raise OSError("no disk")

    assert gc.isenabled()

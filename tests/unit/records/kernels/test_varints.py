"""Numbers are written as the plain varints are."""

import numpy as np
import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN, append_varlong
from cordwood.records.kernels.varints import put_number, size_of_number


@pytest.mark.parametrize("number", (0, -1, 63, 64, -65, 8_191, 8_192, INT64_MAX, INT64_MIN))
def test_number_is_written_as_a_varint(number: int) -> None:
    slab, plain = np.zeros(10, np.uint8), bytearray()
    append_varlong(plain, number)

    end = put_number(slab, 0, number)

    assert slab[:end].tobytes() == plain
    assert size_of_number(number) == end

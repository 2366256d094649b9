"""UTF-8, and the text that Java decodes from other bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.java_text import utf8_as_java
from cordwood.records.kernels.kernel_definition import Bytes
from cordwood.records.kernels.utf8_text import java_text_size, put_java_text, utf8

#: The first and the last byte of each class, and bytes around them.
EDGES = (
    b"a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf4\xf5\xf8\xff"
)


def source_of(data: bytes) -> Bytes:
    source = np.frombuffer(data, np.uint8)
    source.flags.writeable = False
    return source


@pytest.mark.parametrize(
    "text", ("", "plain", "é", "\u07ff\u0800", "\ud7ff\ue000\uffff", "\U00010000\U0010ffff")
)
def test_utf8_accepted_by_python_is_valid(text: str) -> None:
    data = text.encode()

    assert utf8(source_of(data), 0, len(data)) == len(data)


@pytest.mark.parametrize(
    "data",
    (
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xc3",
        b"\xc3\x28",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xe2\x82",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xff",
    ),
)
def test_utf8_rejected_by_python_is_invalid(data: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        data.decode()

    assert utf8(source_of(b"a" + data), 0, 1 + len(data)) == -1


@given(st.lists(st.sampled_from(EDGES), max_size=12))
def test_other_bytes_are_the_text_that_java_decodes(codes: list[int]) -> None:
    data = bytes(codes)
    wanted = utf8_as_java(data)
    slab = np.zeros(64, np.uint8)

    end = put_java_text(source_of(b"x" + data), 1, 1 + len(data), slab, 5)

    assert bytes(slab[5:end]) == wanted
    assert java_text_size(source_of(data), 0, len(data)) == len(wanted)

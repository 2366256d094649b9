"""XXH3-64 gives the values of the reference implementation for every length class."""

import pytest

from cordwood.coordination.groups.consumer.topics.xxh3 import xxh3_64


@pytest.mark.parametrize(
    ("size", "expected"),
    (
        (0, 0x2D06800538D394C2),
        (1, 0xC44BDFF4074EECDB),
        (2, 0x9093381C8763D62E),
        (3, 0xC3489259E968AD9E),
        (4, 0xD3D60C1519014E89),
        (8, 0xB88DEE77F6BF6980),
        (9, 0x3688DCAD730D826),
        (16, 0x9DA23836ADF2BE1E),
        (17, 0xF34C3C9CF5A112D1),
        (32, 0x99CB9AD0F1A11FBE),
        (33, 0xC077B45492D29CDE),
        (64, 0x6EFB76FF16F37561),
        (100, 0x6DBB812CF19D012E),
        (128, 0x65F3C2C00FA93185),
        (129, 0x28065C6EC25F5B25),
        (200, 0x7C64F3B17285E96A),
        (240, 0x4917A75C0EF8EED7),
        (241, 0x541B19226F0052E8),
        (300, 0xE2558AFB5598DA2A),
        (1024, 0xDC5ACF0B043C445B),
        (1025, 0xE1D9CD946277AE26),
        (1088, 0x4A9C221912B93194),
        (5000, 0x6ABE8BE5ABCB2760),
    ),
)
def test_hash_equals_the_reference(size: int, expected: int) -> None:
    assert xxh3_64(bytes(number * 7 & 255 for number in range(size))) == expected

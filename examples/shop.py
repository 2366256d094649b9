"""A shop: orders, and what becomes known of its customers; the same in every run.

A customer moves now and then, and most of what is known of one is out of date.
"""

from collections.abc import Iterator
from typing import Final

CITIES: Final = ("Bergen", "Graz", "Lund", "Porto", "Turku", "Vilnius")
TIERS: Final = ("birch", "oak", "walnut")
CUSTOMERS: Final = 40_000

_START_MS: Final = 1_790_000_000_000
#: A prime: what follows it comes back late, and looks like chance.
_STRIDE: Final = 7_919
_REGULARS: Final = 100
_AT_A_TIME: Final = 997


def orders(first: int, count: int) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield orders as a shop would send them: key, value, time."""
    for number in range(first, first + count):
        customer = number * _STRIDE % CUSTOMERS
        value = b'{"order": %d, "customer": %d, "cents": %d, "state": "placed"}' % (
            *(number, customer, number * 31 % 100_000),
        )
        yield b"customer-%d" % customer, value, _START_MS + 25 * number


def updates(count: int) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield changes of customers: key, value, time.

    Some customers change all the time, the others now and then within some weeks.
    """
    for number in range(count):
        turn = number * CUSTOMERS // count + number * _STRIDE % _AT_A_TIME
        customer = turn % CUSTOMERS if number % 3 else number % _REGULARS
        moved = number * 31 // CUSTOMERS + customer
        city, tier = CITIES[moved % len(CITIES)], TIERS[(moved + number) % len(TIERS)]
        value = f'{{"customer": {customer}, "city": "{city}", "tier": "{tier}"}}'
        yield b"customer-%d" % customer, value.encode(), _START_MS + 25 * number

"""What was measured says what it says."""

import json

from cordwood.cli.measuring import Measured, distribution

MEASURED = Measured(
    records=1_000, bytes=2_000_000, seconds=0.5, cpu_seconds=0.25, latency_ms={"average": 1.5}
)


def test_distribution_knows_what_most_stay_below() -> None:
    told = distribution([float(each) for each in range(1_000, 0, -1)])

    assert told == {
        "average": 500.5,
        "50%": 501,
        "95%": 951,
        "99%": 991,
        "99.9%": 1000,
        "longest": 1000,
    }


def test_nothing_has_no_distribution() -> None:
    assert distribution([]) == {}


def test_measured_is_lines() -> None:
    assert MEASURED.lines() == [
        (
            "1,000 records, 2,000,000 bytes in 0.500 s: 2,000 records/s, 4.00 MB/s,"
            " 0.250 s of this process's CPU"
        ),
        "latency in ms: average 1.50",
    ]


def test_measured_is_json_with_what_follows() -> None:
    told = json.loads(MEASURED.to_json())

    assert (told["records_per_second"], told["mb_per_second"]) == (2_000, 4)


def test_no_time_is_no_speed() -> None:
    measured = Measured(records=0, bytes=0, seconds=0, cpu_seconds=0)

    assert "0 records/s" in measured.lines()[0]

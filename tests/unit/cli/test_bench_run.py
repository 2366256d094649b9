"""Results of a benchmark, as text and as JSON."""

import json

from cordwood.cli.bench_run import BenchResult, distribution

MEASURED = BenchResult(
    records=1_000, bytes=2_000_000, seconds=0.5, cpu_seconds=0.25, latency_ms={"average": 1.5}
)


def test_distribution_contains_percentiles() -> None:
    parsed = distribution([float(each) for each in range(1_000, 0, -1)])

    assert parsed == {
        "average": 500.5,
        "50%": 501,
        "95%": 951,
        "99%": 991,
        "99.9%": 1000,
        "longest": 1000,
    }


def test_no_latencies_have_no_distribution() -> None:
    assert distribution([]) == {}


def test_result_is_lines() -> None:
    assert MEASURED.lines() == [
        (
            "1,000 records, 2,000,000 bytes in 0.500 s: 2,000 records/s, 4.00 MB/s,"
            " 0.250 s of client CPU"
        ),
        "latency in ms: average 1.50",
    ]


def test_json_contains_the_rates() -> None:
    parsed = json.loads(MEASURED.to_json())

    assert (parsed["records_per_second"], parsed["mb_per_second"]) == (2_000, 4)


def test_rate_of_no_time_is_zero() -> None:
    result = BenchResult(records=0, bytes=0, seconds=0, cpu_seconds=0)

    assert "0 records/s" in result.lines()[0]


def test_one_record_is_in_the_singular() -> None:
    result = BenchResult(records=1, bytes=1, seconds=0.5, cpu_seconds=0)

    assert result.lines()[0].startswith("1 record, 1 byte in 0.500 s: 2 records/s")

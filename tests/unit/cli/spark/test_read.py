"""`cordwood spark read` as it is called; `tests/spark` runs it."""

from collections.abc import Iterator

import pytest

from cordwood.cli.spark import read
from cordwood.client.consumer.completed_fetch import ConsumedRecord
from cordwood.records.record import TimestampType
from tests.unit.cli.commands import run
from tests.unit.cli.spark.test_verify import without_spark

CREATE = TimestampType.CREATE_TIME


def two(_spark: None, _options: object) -> Iterator[ConsumedRecord[bytes, bytes]]:
    for offset in (0, 1):
        yield ConsumedRecord("t", 0, offset, 5, CREATE, None, b"%d" % offset, (), leader_epoch=-1)


@pytest.fixture(autouse=True)
def _no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "job_session", without_spark)
    monkeypatch.setattr(read, "check_source", lambda _options: None)
    monkeypatch.setattr(read, "records", two)
    monkeypatch.setattr(read, "count_records", lambda _spark, options: len(options))


@pytest.mark.parametrize(
    ("arguments", "printed"),
    (
        ((), "0\n1\n"),
        (("--max-messages", "1"), "0\n"),
        (("--key-separator", "=", "--null-marker", "-"), "-=0\n-=1\n"),
        (("--count", "--topic", "t"), "2\n"),
    ),
)
def test_read_prints_records_as_lines_or_their_number(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    printed: str,
) -> None:
    result = run(("spark", "read", "logs", *arguments), monkeypatch, capfd)

    assert (result.code, result.out) == (0, printed)


def test_unusable_source_is_an_error_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(read, "job_session", None)

    result = run(("spark", "read", "/absent", "--count"), monkeypatch, capfd)

    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("cordwood: /absent: does not exist")

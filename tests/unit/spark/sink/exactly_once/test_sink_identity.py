"""A sink has its name from an option or from its checkpoint, or is refused."""

from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.sink.exactly_once.sink_identity import (
    job_names,
    job_query_id,
    query_id_of,
    stream_names,
)
from cordwood.spark.sink.sink_options import SinkOptions, parse_sink_options

QUERY = "a4cdd2a9-29b1-4d2b-9d5b-8d2cf3a8b0d5"


def options_of(*, is_stream: bool = True, **given: str) -> SinkOptions:
    where = {"kafka.bootstrap.servers": "127.0.0.1:9092", "topic": "t"}
    return parse_sink_options(where | given, is_stream=is_stream)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    (tmp_path / "metadata").write_text(f'{{"id":"{QUERY}"}}', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("scheme", ("", "file:", "file://"))
def test_stream_is_named_after_its_query(checkpoint: Path, scheme: str) -> None:
    options = options_of(checkpointLocation=f"{scheme}{checkpoint}")

    assert stream_names(options).sink == f"cordwood-{QUERY}"
    assert str(query_id_of(str(checkpoint))) == QUERY


def test_option_is_preferred_to_the_checkpoint() -> None:
    options = options_of(transactionalIdPrefix="mine", checkpointLocation="s3://bucket/c")

    assert stream_names(options).sink == "mine"


@pytest.mark.parametrize("place", ("s3a://bucket/c", "/absent", None))
def test_stream_without_a_name_is_refused(place: str | None) -> None:
    options = options_of() if place is None else options_of(checkpointLocation=place)

    with pytest.raises(SettingError, match="set the option transactionalIdPrefix"):
        stream_names(options)


def test_damaged_metadata_are_refused(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":7}', encoding="utf-8")

    with pytest.raises(SettingError, match="has no query id"):
        query_id_of(str(tmp_path))


def test_job_is_named_after_its_id() -> None:
    options = options_of(is_stream=False, jobId="load-7")
    other = options_of(is_stream=False, jobId="load-8")

    names = job_names(options)
    assert names.sink == "cordwood-job-load-7"
    assert job_query_id(options, names) == job_query_id(options, names)
    assert job_query_id(options, names) != job_query_id(other, job_names(other))


def test_job_without_an_id_has_another_name_each_time() -> None:
    options = options_of(is_stream=False)

    assert job_names(options) != job_names(options)


def test_prefix_of_batch_writes_does_not_identify_one_of_them() -> None:
    options = options_of(is_stream=False, transactionalIdPrefix="mine")
    named = options_of(is_stream=False, transactionalIdPrefix="mine", jobId="load-7")

    assert job_names(options) != job_names(options)
    assert job_names(options).sink.startswith("mine-")
    assert job_names(named).sink == "mine-load-7"

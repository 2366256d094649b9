"""Options of a stream, their defaults, and the errors for those that cannot be used."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.source.source_options import EARLIEST, LATEST, STREAMING
from cordwood.spark.stream.admission import MAX_DELAY_MS, AdmissionLimits
from cordwood.spark.stream.stream_options import (
    STREAM_OPTIONS,
    StreamOptions,
    parse_local_stream_options,
    parse_stream_options,
    stream_names_in,
)

BROKER = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "orders"}


def parsed(**options: str) -> StreamOptions:
    return parse_stream_options({"path": "logs", **options})


def test_stream_starts_at_the_latest_offsets_by_default() -> None:
    options = parsed()

    assert options.source.starting.default == LATEST
    assert options.limits == AdmissionLimits()


@pytest.mark.parametrize(("word", "value"), (("earliest", EARLIEST), ("Latest", LATEST)))
def test_stream_may_start_at_either_word(word: str, value: int) -> None:
    assert parsed(startingOffsets=word).source.starting.default == value


def test_stream_may_start_partitions_at_either_word() -> None:
    starting = parsed(startingOffsets='{"t": {"0": -1, "1": -2, "2": 7}}').source.starting

    assert list(starting.by_partition.values()) == [LATEST, EARLIEST, 7]


@pytest.mark.parametrize("name", ("startingOffsets", "startingOffsetsByTimestamp"))
@pytest.mark.parametrize("text", ("{}", '{"t": {}}'))
def test_stream_does_not_start_at_a_default_that_json_leaves_out(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"{name}: no partition is given"):
        parsed(**{name: text})


def test_limits_are_those_of_spark_sql_kafka() -> None:
    options = parsed(
        maxOffsetsPerTrigger="100",
        minOffsetsPerTrigger="10",
        maxTriggerDelay="2m",
        maxBytesPerTrigger="4096",
    )

    assert options.limits == AdmissionLimits(100, 4096, 10, 120_000)


@pytest.mark.parametrize(
    ("text", "delay_ms"),
    (("5", 5), ("5ms", 5), ("3 s", 3000), ("2min", 120_000), ("1h", 3_600_000), ("1D", 86_400_000)),
)
def test_delay_has_the_units_of_spark(text: str, delay_ms: int) -> None:
    options = parsed(minOffsetsPerTrigger="1", maxTriggerDelay=text)

    assert options.limits.max_delay_ms == delay_ms


def test_delay_is_15_minutes_by_default() -> None:
    assert MAX_DELAY_MS == 900_000


@pytest.mark.parametrize(
    ("given", "problem"),
    (
        ({"endingOffsets": "latest"}, "endingoffsets applies to batch reads only"),
        ({"endingTimestamp": "5"}, "endingtimestamp applies to batch reads only"),
        ({"pushFilters": "true"}, "pushfilters applies to batch reads only"),
        ({"maxOffsetPerTrigger": "5"}, "did you mean maxOffsetsPerTrigger"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger: invalid value"),
        (
            {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
            "minOffsetsPerTrigger 9 is above maxOffsetsPerTrigger 8",
        ),
        ({"maxTriggerDelay": "5m"}, "no effect without minOffsetsPerTrigger"),
        ({"minOffsetsPerTrigger": "9", "maxTriggerDelay": "soon"}, "'soon' is not a duration"),
        ({"groupId": "g"}, "groupId has no effect without kafka.bootstrap.servers"),
        ({**BROKER, "groupId": ""}, "groupId: no name is given"),
        ({**BROKER, "groupId": "g", "kafka.group.id": "h"}, "name two groups"),
        ({"onRecreatedTopic": "ignore"}, "unknown answer 'ignore'; use fail or restart"),
    ),
)
def test_unusable_options_are_rejected_by_name(given: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        parsed(**given)


def test_group_prefix_is_accepted() -> None:
    assert parsed(groupIdPrefix="spark").has_group_prefix


def test_group_is_that_of_the_client() -> None:
    options = parse_stream_options({**BROKER, "groupId": "g", "kafka.group.id": "g"})

    assert options.group_id == "g"


def test_policy_is_that_of_the_options() -> None:
    policy = parsed(onRecreatedTopic="restart", failOnDataLoss="false", gapTable="g").policy

    assert policy == ("record", True)


def test_every_stream_option_is_declared() -> None:
    assert {each.name for each in STREAM_OPTIONS} == set(STREAMING)


def test_names_of_streams_are_recognised_in_any_case() -> None:
    assert stream_names_in({"path": "logs", "groupid": "g"}) == ["groupId"]


def test_paths_become_absolute() -> None:
    (path,) = parse_local_stream_options({"path": "logs"}).source.paths

    assert path.endswith("/logs")
    assert path.startswith("/")

"""Settings: parsing, precedence of names and sources, and error texts."""

import re

import pytest

from cordwood.core.errors import SettingError
from cordwood.core.settings import (
    Password,
    Setting,
    SettingSource,
    SettingSynonym,
    SettingTable,
    SettingType,
    SettingValue,
    text_of,
    texts_of,
)


def _not_zero(value: SettingValue) -> str:
    return "" if value else "is 0"


RETENTION = Setting(
    name="retention.ms",
    type=SettingType.LONG,
    default=604_800_000,
    doc="How long records stay.",
    at_least=-1,
    synonyms=(
        SettingSynonym("log.retention.ms"),
        SettingSynonym("log.retention.minutes", 60_000),
        SettingSynonym("log.retention.hours", 3_600_000),
    ),
)
POLICY = Setting(
    name="cleanup.policy",
    type=SettingType.LIST,
    default=("delete",),
    doc="What happens to old records.",
    one_of=("delete", "compact"),
)
TABLE = SettingTable([RETENTION, POLICY])


def _setting(kind: SettingType, **rest: float) -> Setting:
    at_most = rest.get("at_most")
    return Setting(name="x", type=kind, default=None, doc="A setting.", at_most=at_most)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    (
        (SettingType.BOOLEAN, " True ", True),
        (SettingType.SHORT, "-32768", -32768),
        (SettingType.INT, "+7", 7),
        (SettingType.LONG, "9223372036854775807", 2**63 - 1),
        (SettingType.DOUBLE, ".5e1", 5.0),
        (SettingType.STRING, " a b ", "a b"),
        (SettingType.LIST, "a , b", ("a", "b")),
        (SettingType.LIST, "", ()),
        (SettingType.CLASS, "org.example.Name", "org.example.Name"),
        (SettingType.PASSWORD, "secret", Password("secret")),
    ),
)
def test_setting_parses_text_of_its_type(kind: SettingType, text: str, value: SettingValue) -> None:
    assert _setting(kind).parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    (
        (SettingType.BOOLEAN, "yes", "not of type boolean"),
        (SettingType.INT, "1_000", "not of type int"),
        (SettingType.DOUBLE, "nan", "not of type double"),
        (SettingType.DOUBLE, "1e999", "does not fit type double"),
        (SettingType.SHORT, "32768", "does not fit type short"),
        (SettingType.LONG, "99999999999999999999", "does not fit type long"),
    ),
)
def test_setting_rejects_text_of_another_type(kind: SettingType, text: str, problem: str) -> None:
    with pytest.raises(SettingError, match=f"setting x has the value '{text}', which.*{problem}"):
        _setting(kind).parse(text)


def test_error_names_range_and_given_key_when_a_synonym_is_too_low() -> None:
    with pytest.raises(SettingError) as caught:
        RETENTION.parse("-2", given_as="log.retention.hours")

    assert str(caught.value) == (
        "setting log.retention.hours has the value '-2', which is below -1; "
        "retention.ms, which it sets, takes a long of at least -1"
    )


def test_error_names_the_limit_when_the_value_is_too_high() -> None:
    with pytest.raises(SettingError, match=r"is above 1; use a double of at most 1"):
        _setting(SettingType.DOUBLE, at_most=1).parse("1.1")


def test_error_names_the_choices_when_the_value_is_unknown() -> None:
    with pytest.raises(SettingError) as caught:
        POLICY.parse("delete,keep")

    assert str(caught.value) == (
        f"setting {POLICY.name} has the value 'delete,keep', but 'keep' is not accepted; "
        "use a list of delete or compact"
    )


@pytest.mark.parametrize(
    ("setting", "text", "message"),
    (
        (
            Setting(name="x", type=SettingType.STRING, default="a", doc="", one_of=("a", "b", "c")),
            "d",
            "setting x has the value 'd', which is not accepted; use a, b or c",
        ),
        (
            Setting(name="x", type=SettingType.STRING, default="a", doc="", one_of=("a",)),
            "d",
            "setting x has the value 'd', which is not accepted; use a",
        ),
        (
            Setting(name="x", type=SettingType.INT, default=1, doc="", at_least=1, at_most=17),
            "18",
            "setting x has the value '18', which is above 17; use an int from 1 to 17",
        ),
        (
            Setting(name="x", type=SettingType.BOOLEAN, default=True, doc=""),
            "yes",
            "setting x has the value 'yes', which is not of type boolean; use true or false",
        ),
        (
            Setting(name="x", type=SettingType.DOUBLE, default=1.0, doc=""),
            "y",
            "setting x has the value 'y', which is not of type double; use a double",
        ),
        (
            Setting(
                name="x", type=SettingType.INT, default=1, doc="", check=lambda _: "is not prime"
            ),
            "4",
            "setting x has the value '4', which is not prime; correct the value",
        ),
    ),
)
def test_error_is_a_sentence_with_the_accepted_values(
    setting: Setting, text: str, message: str
) -> None:
    with pytest.raises(SettingError) as caught:
        setting.parse(text)

    assert str(caught.value) == message


def test_choice_may_be_a_single_word() -> None:
    kind = Setting(name="k", type=SettingType.STRING, default="a", doc="One.", one_of=("a", "b"))

    assert kind.parse("b") == "b"
    with pytest.raises(SettingError, match="'c', which is not accepted; use a or b"):
        kind.parse("c")


def test_check_has_the_last_word() -> None:
    setting = Setting(name="x", type=SettingType.INT, default=1, doc="Not zero.", check=_not_zero)

    assert setting.parse("2") == 2
    with pytest.raises(SettingError, match="is 0"):
        setting.parse("0")


def test_password_is_never_shown() -> None:
    setting = Setting(
        name="x", type=SettingType.PASSWORD, default=None, doc="S.", check=lambda _: "is weak"
    )

    assert "secret" not in f"{Password('secret')} {Password('secret')!r}"
    with pytest.raises(SettingError, match=r"^((?!secret).)*$"):
        setting.parse("secret")


@pytest.mark.parametrize(
    ("texts", "value", "key"),
    (
        ({}, 604_800_000, "retention.ms"),
        ({"log.retention.hours": "1"}, 3_600_000, "log.retention.hours"),
        (
            {"log.retention.hours": "1", "log.retention.minutes": "2"},
            120_000,
            "log.retention.minutes",
        ),
        ({"log.retention.minutes": "2", "log.retention.ms": "3"}, 3, "log.retention.ms"),
    ),
)
def test_table_prefers_the_finer_name(texts: dict[str, str], value: int, key: str) -> None:
    found = TABLE.resolve([SettingSource("broker", texts)])["retention.ms"]

    assert found.value == value
    assert found.key == key


def test_table_prefers_the_first_source_and_names_it() -> None:
    sources = [
        SettingSource("dynamic", {"log.retention.ms": "1"}),
        SettingSource("file", {"log.retention.ms": "2"}),
    ]

    assert TABLE.resolve(sources)["retention.ms"].source == "dynamic"
    assert TABLE.resolve(sources[1:])["retention.ms"].value == 2
    assert TABLE.resolve(sources)["cleanup.policy"].source == "default"


def test_error_for_an_unknown_key_names_the_nearest_key() -> None:
    TABLE.refuse_unknown(["log.retention.ms"])

    with pytest.raises(SettingError, match=r"log.retention.min is unknown; did you mean log"):
        TABLE.refuse_unknown(["log.retention.min"])
    with pytest.raises(SettingError, match="zzz is unknown; remove it"):
        TABLE.refuse_unknown(["zzz"])


def test_table_rejects_a_name_declared_twice() -> None:
    with pytest.raises(SettingError, match=r"retention.ms is declared twice"):
        SettingTable([RETENTION, RETENTION])


def test_table_is_a_collection_of_settings() -> None:
    assert list(TABLE) == [RETENTION, POLICY]
    assert len(TABLE) == 2
    assert TABLE["cleanup.policy"] is POLICY
    assert "log.retention.hours" in TABLE


def test_minus_one_is_not_converted_from_the_unit_of_a_synonym() -> None:
    assert RETENTION.parse("-1", given_as="log.retention.hours") == -1


@pytest.mark.parametrize(
    ("value", "text"),
    (
        (True, "true"),
        (7, "7"),
        (0.5, "0.5"),
        (("a", "b"), "a,b"),
        ((), ""),
        ("x", "x"),
        (None, None),
        (Password("secret"), "[hidden]"),
    ),
)
def test_value_is_written_as_java_writes_it(value: SettingValue, text: str | None) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("setting", "text", "kafka_message"),
    (
        (RETENTION, "x", "Invalid value x for configuration retention.ms: Not a number of type"),
        (RETENTION, "-2", "retention.ms: Value must be at least -1"),
        (
            POLICY,
            "delete,keep",
            "Invalid value keep for .*: String must be one of: delete, compact",
        ),
    ),
)
def test_error_has_the_message_of_kafka(setting: Setting, text: str, kafka_message: str) -> None:
    with pytest.raises(SettingError) as caught:
        setting.parse(text)

    assert re.search(kafka_message, caught.value.kafka_message)


def test_table_finds_a_setting_by_each_of_its_names() -> None:
    assert TABLE.find("retention.ms") is RETENTION
    assert TABLE.find("log.retention.hours") is RETENTION
    assert TABLE.find("zzz") is None


def test_values_become_texts_without_null_values() -> None:
    values = {"log.retention.ms": 1000, "auto.create.topics.enable": False, "log.dir": None}

    assert texts_of(values) == {"log.retention.ms": "1000", "auto.create.topics.enable": "false"}


def test_message_of_kafka_about_a_value_shows_the_value() -> None:
    setting = Setting(
        name="x",
        type=SettingType.INT,
        default=1,
        doc="Not zero.",
        check=_not_zero,
        kafka_message="not `{value}`",
    )

    with pytest.raises(SettingError) as caught:
        setting.parse("0")

    assert caught.value.kafka_message == "Invalid value 0 for configuration x: not `0`"

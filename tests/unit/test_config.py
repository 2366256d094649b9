"""Tests of startup settings: precedence, errors and warnings."""

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.config import GivenSettings, PropertiesFile, environment_name, read_settings
from cordwood.core.errors import DamagedFileError, SettingError

PATH = "/etc/server.properties"


def read(file: bytes = b"", *overrides: str, **environment: str) -> GivenSettings:
    return read_settings(PropertiesFile(PATH, file), environment=environment, overrides=overrides)


def test_command_line_wins_over_environment_and_that_over_the_file() -> None:
    file = b"num.partitions=1\nlog.retention.hours=1\nlog.segment.bytes=2000000\n"
    environment = {"CORDWOOD_NUM_PARTITIONS": "2", "CORDWOOD_LOG_RETENTION_HOURS": "2"}

    configs = BrokerConfigs(1, read(file, "num.partitions=3", **environment).sources)

    assert configs.integer("num.partitions") == 3
    assert configs.integer("log.retention.hours") == 2
    assert configs.integer("log.segment.bytes") == 2_000_000


def test_configuration_may_be_empty() -> None:
    given = read_settings(None, environment={}, overrides=())

    assert [dict(source.texts) for source in given.sources] == [{}, {}]


@pytest.mark.parametrize(
    ("file", "overrides", "told"),
    (
        (
            b"# ours\n\nlog.retention.mss=1",
            (),
            f"^{PATH}, line 3: .*mss is unknown; did you mean log.retention.ms",
        ),
        (b"", ("num.partition=1",), r"^--set: .*did you mean num.partitions\?"),
        (b"num.partitions=x", (), f"^{PATH}, line 1: .*'x', which is not of type int"),
        (b"", ("num.partitions",), "has no value; write --set key=value"),
        (b"listener.name.in.num.partitions=1", (), "is unknown"),
    ),
)
def test_invalid_settings_are_rejected_with_their_source(
    file: bytes, overrides: tuple[str, ...], told: str
) -> None:
    with pytest.raises(SettingError, match=told):
        read(file, *overrides)


@pytest.mark.parametrize(
    "line",
    (
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users=User:admin",
        "allow.everyone.if.no.acl.found=false",
    ),
)
def test_setting_that_promises_access_control_is_rejected_by_name(line: str) -> None:
    key, _, text = line.partition("=")
    reason = f"^{PATH}, line 1: setting {key} has the value '{text}', but there is no authorizer"

    with pytest.raises(SettingError, match=f"{reason}.*remove the setting"):
        read(line.encode())
    with pytest.raises(SettingError, match=r"--set: .*no authorizer"):
        read(b"", line)
    with pytest.raises(SettingError, match=r"environment: .*no authorizer"):
        read(b"", **{environment_name(key): text})


def test_setting_that_promises_no_access_control_is_accepted() -> None:
    lines = b"authorizer.class.name=\nsuper.users=\nallow.everyone.if.no.acl.found=true\n"

    assert len(read(lines).warnings) == 3


def test_overridden_line_is_not_parsed() -> None:
    given = read(b"num.partitions=x\nnum.partitions=3\n")

    assert BrokerConfigs(1, given.sources).integer("num.partitions") == 3


def test_error_for_a_damaged_file_names_its_line() -> None:
    with pytest.raises(DamagedFileError, match=rf"{PATH}: a damaged escape .*position 2"):
        read(b"num.partitions=1\nbroker.rack=\\u12\n")


def test_setting_without_effect_is_a_warning_with_its_reason() -> None:
    given = read(b"process.roles=broker\ncontroller.quorum.voters=1@a:1\nbroker.id=1\n")

    reason = "there is no controller quorum"
    assert given.warnings == (
        f"{PATH}: setting process.roles has no effect: {reason}",
        f"{PATH}: setting controller.quorum.voters has no effect: {reason}",
    )


def test_unknown_environment_variable_is_a_warning() -> None:
    given = read(b"", CORDWOOD_PORT_9092_TCP="tcp://10.0.0.1", CORDWOOD_KERNELS="", HOME="/")

    assert given.warnings == (
        "environment: CORDWOOD_PORT_9092_TCP is not a setting and has no effect",
    )


def test_each_setting_has_a_unique_name_in_the_environment() -> None:
    names = {environment_name(each.name) for each in BROKER_SETTINGS}

    assert len(names) == len(BROKER_SETTINGS)
    assert environment_name("cordwood.log.format") == "CORDWOOD_LOG_FORMAT"


def test_cordwood_setting_has_a_single_prefix_in_the_environment() -> None:
    given = read(b"", CORDWOOD_LOG_FORMAT="json")

    assert BrokerConfigs(1, given.sources).text("cordwood.log.format") == "json"


def test_byte_order_mark_is_named() -> None:
    file = PropertiesFile("server.properties", b"\xef\xbb\xbfnode.id=1\n")

    with pytest.raises(DamagedFileError, match=r"byte order mark .*; save it without the mark"):
        read_settings(file, environment={}, overrides=[])


@pytest.mark.parametrize(
    "setting",
    (
        "sasl.jaas.config=x",
        "sasl.enabled.mechanisms=PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config=x",
        "listener.name.a.sasl.enabled.mechanisms=PLAIN",
        "delegation.token.secret.key=x",
        "create.topic.policy.class.name=a.B",
    ),
)
def test_setting_that_promises_a_check_that_is_not_made_is_rejected(setting: str) -> None:
    with pytest.raises(SettingError, match=r"asks for protection, but .* client certificates"):
        read_settings(None, environment={}, overrides=[setting])

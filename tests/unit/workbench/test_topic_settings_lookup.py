"""Settings are found in options, metadata and server.properties."""

import pytest

from cordwood.core.errors import DamagedFileError, SettingError
from cordwood.core.metadata_paths import BROKER, TOPIC, config_path, encode_texts, topic_path
from cordwood.core.znodes import ZNode
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE, encode_line
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.topic_settings_lookup import FoundSettings, SettingsFinder
from tests.unit.workbench.metadata_samples import config, metadata_batch, topic

FOLDER = "/logs"
LOG = "00000000000000000000.log"
META = b"version=1\ncluster.id=c\nnode.id=1\n"


def directory(contents: dict[str, bytes], beside: dict[str, bytes] | None = None) -> MemoryFiles:
    """Return a log directory with a metadata log, and other files."""
    files = MemoryFiles()
    for path in (FOLDER, f"{FOLDER}/{METADATA_LOG}"):
        files.make_directory(path)
    for name, data in contents.items():
        files.create(f"{FOLDER}/{METADATA_LOG}/{name}").append(data)
    for name, data in (beside or {}).items():
        files.create(f"{FOLDER}/{name}").append(data)
    return files


def found(
    files: MemoryFiles, broker_config: str | None = None, topic: str | None = "t", **given: str
) -> FoundSettings:
    texts = {key.replace("_", "."): text for key, text in given.items()}
    return SettingsFinder(files, given=texts, broker_config=broker_config).find(FOLDER, topic)


def source_of(settings: FoundSettings, name: str) -> tuple[object, str]:
    resolved = settings.resolved[name]
    return resolved.value, resolved.source.rpartition("/")[2]


def test_defaults_apply_without_other_sources() -> None:
    files = MemoryFiles()
    files.make_directory(FOLDER)

    settings = found(files)

    assert settings.sources == ()
    assert source_of(settings, "retention.ms") == (604_800_000, "default")


def test_first_source_with_a_name_wins() -> None:
    log = metadata_batch(
        topic("t"),
        config(TOPIC, "t", "segment.bytes", "5000000"),
        config(BROKER, "1", "log.segment.bytes", "6000000"),
        config(BROKER, "1", "log.retention.ms", "6"),
        config(BROKER, "", "log.retention.ms", "7"),
        config(BROKER, "", "log.retention.bytes", "7"),
    )
    server = b"log.retention.bytes=8\nlog.cleanup.policy=compact\nnode.id=1\n"
    files = directory({LOG: log}, {"meta.properties": META, "server.properties": server})

    settings = found(files, broker_config=f"{FOLDER}/server.properties", cleanup_policy="delete")

    assert source_of(settings, "cleanup.policy") == (("delete",), "--config")
    assert source_of(settings, "segment.bytes") == (5_000_000, f"{METADATA_LOG}, topic t")
    assert source_of(settings, "retention.ms") == (6, f"{METADATA_LOG}, 1")
    assert source_of(settings, "retention.bytes") == (7, f"{METADATA_LOG}, all brokers")
    assert settings.config.segment_bytes == 5_000_000
    assert len(settings.sources) == 5


def test_metadata_are_not_read_for_a_log_without_a_topic() -> None:
    assert found(directory({LOG: b""}), topic=None).sources == ()


@pytest.mark.parametrize(
    ("asked", "given", "is_compacted"),
    (
        ("t", {}, True),
        ("u", {}, False),
        ("unknown", {}, None),
        ("unknown", {"cleanup.policy": "compact,delete"}, True),
        ("unknown", {"retention.ms": "5"}, None),
        (None, {"cleanup.policy": "delete"}, False),
    ),
)
def test_cleanup_policy_is_read_from_metadata_or_options(
    asked: str | None, given: dict[str, str], *, is_compacted: bool | None
) -> None:
    log = metadata_batch(topic("t"), topic("u"), config(TOPIC, "t", "cleanup.policy", "compact"))

    settings = SettingsFinder(directory({LOG: log}), given=given).find(FOLDER, asked)

    assert settings.cleanup.is_compacted is is_compacted


def test_own_metadata_contain_topic_and_broker_settings() -> None:
    nodes = {
        topic_path("t"): ZNode(b""),
        config_path(TOPIC, "t"): ZNode(encode_texts({"cleanup.policy": "compact"})),
        config_path(BROKER, ""): ZNode(encode_texts({"log.retention.ms": "7"})),
    }
    said = b"cordwood.metadata 1\n" + encode_line(nodes)
    files = directory({LOG: metadata_batch(topic("t"))}, {METADATA_FILE: said})

    settings = found(files)

    assert source_of(settings, "cleanup.policy") == (("compact",), f"{METADATA_FILE}, topic t")
    assert source_of(settings, "retention.ms") == (7, f"{METADATA_FILE}, all brokers")
    assert settings.cleanup.is_compacted


def test_unreadable_metadata_are_an_error_for_every_topic() -> None:
    finder = SettingsFinder(directory({}, {METADATA_FILE: b"x"}))

    for asked in ("t", "u"):
        with pytest.raises(DamagedFileError, match="the file is not a metadata file"):
            finder.find(FOLDER, asked)


def test_unknown_setting_is_rejected() -> None:
    with pytest.raises(SettingError, match="did you mean"):
        found(directory({}), retention_mss="1")


def test_invalid_value_is_rejected_before_a_topic_is_looked_up() -> None:
    with pytest.raises(SettingError, match=r"cleanup\.policy"):
        SettingsFinder(directory({}), given={"cleanup.policy": "keep"})

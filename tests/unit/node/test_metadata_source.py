"""Tests of the metadata of a node."""

from cordwood.broker.network.tls import check_tls
from cordwood.core.settings import SettingSource
from cordwood.node.metadata_source import CONFIG_CHECKS, MetadataSource
from cordwood.node.standalone import StandaloneMetadata
from tests.unit.node.node_samples import run


def source(**given: str) -> MetadataSource:
    texts = {key.replace("_", "."): text for key, text in given.items()}
    return StandaloneMetadata([SettingSource("test", texts)])


def test_given_node_id_is_that_of_the_directories() -> None:
    assert run(source(node_id="7").identify()) == (None, 7)


def test_directories_decide_about_ids_that_are_not_given() -> None:
    assert run(source().identify()) == (None, None)


def test_altered_certificates_are_checked() -> None:
    assert check_tls in CONFIG_CHECKS

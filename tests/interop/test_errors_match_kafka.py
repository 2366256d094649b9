"""Every error constant of Kafka 4.3 has one leaf with the same code, name and retriability."""

import pytest

from cordwood.core.errors.codes import ERRORS_BY_CODE
from tests.interop.kafka_harness.oracle import Oracle

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]


def _leaf_name(constant: str) -> str:
    words = "".join(word.capitalize() for word in constant.split("_"))
    return words.removesuffix("Error").removesuffix("Exception") + "Error"


def test_error_classes_match_the_constants_of_kafka(kafka43: Oracle) -> None:
    theirs = {
        (error["code"], _leaf_name(error["name"]), error["retriable"])
        for error in kafka43.errors()
        if error["name"] != "NONE"
    }

    ours = {(leaf.code, leaf.__name__, leaf.retriable) for leaf in ERRORS_BY_CODE.values()}

    assert ours == theirs

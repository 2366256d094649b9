"""The certificate as JSON."""

import json
from dataclasses import asdict

import pytest

from cordwood.compaction.certificate import Certificate, PassCounts, parse_certificate
from cordwood.compaction.key_hash import SEEDS
from cordwood.core.errors import DamagedFileError


def certificate() -> Certificate:
    return Certificate(
        partition="orders-0",
        first_dirty=0,
        end=30,
        now_ms=1_000,
        segments_before=3,
        segments_after=1,
        keys=2,
        ranges=1,
        counts=PassCounts(records_kept=2, stream=0xABC),
        erased_keys=("00:11",),
        erased_records=(4,),
        sha256="ab",
    )


def test_certificate_is_an_object_with_its_counts() -> None:
    told = json.loads(certificate().to_json())

    assert told["keys"] == 2
    assert told["counts"]["records_kept"] == 2
    assert told["counts"]["stream"] == "0000000000000abc"


def test_certificate_is_read_back() -> None:
    assert parse_certificate(certificate().to_json(), path="f", number=1) == certificate()


def test_older_certificate_lacks_the_newer_fields() -> None:
    told = json.loads(certificate().to_json())
    older = {name: value for name, value in told.items() if name not in {"sha256", "start"}}

    found = parse_certificate(json.dumps({**older, "other": 1}), path="f", number=1)

    assert (found.sha256, found.start, found.end) == ("", 0, 30)


@pytest.mark.parametrize(
    "changes",
    (
        {"end": "30"},
        {"end": None},
        {"end": True},
        {"end": 1 << 63},
        {"end": -1, "start": -1},
        {"start": 31},
        {"seed": -1},
        {"seed": SEEDS},
        {"partition": ["orders-0"]},
        {"verified": 1},
        {"sha256": None},
        {"erased_keys": [1]},
        {"erased_records": ["4"]},
        {"counts": {**asdict(PassCounts()), "stream": "0", "records_kept": "2"}},
    ),
    ids=str,
)
def test_altered_certificate_with_an_impossible_value_is_rejected(
    changes: dict[str, object],
) -> None:
    line = json.dumps({**json.loads(certificate().to_json()), **changes})

    with pytest.raises(DamagedFileError, match="f: the line is not a certificate"):
        parse_certificate(line, path="f", number=1)


@pytest.mark.parametrize("line", ("x", "[]", "{}", '{"counts": 1}', '{"counts": {}}'))
def test_other_line_is_not_a_certificate(line: str) -> None:
    with pytest.raises(DamagedFileError, match="f: the line is not a certificate"):
        parse_certificate(line, path="f", number=3)

"""The certificate as JSON."""

import json

from cordwood.compaction.certificate import Certificate, PassCounts


def test_certificate_is_an_object_with_its_counts() -> None:
    certificate = Certificate(
        partition="orders-0",
        first_dirty=0,
        end=30,
        now_ms=1_000,
        segments_before=3,
        segments_after=1,
        keys=2,
        ranges=1,
        counts=PassCounts(records_kept=2, stream=0xABC),
    )

    told = json.loads(certificate.to_json())

    assert told["keys"] == 2
    assert told["counts"]["records_kept"] == 2
    assert told["counts"]["stream"] == "0000000000000abc"

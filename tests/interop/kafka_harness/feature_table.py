"""Features of the conformance page, in the order of its lines."""

from typing import Final

from tests.interop.kafka_harness.features import LOG_FEATURES
from tests.interop.kafka_harness.group_features import GROUP_FEATURES
from tests.interop.kafka_harness.transaction_features import TRANSACTION_FEATURES

FEATURES: Final = (*LOG_FEATURES, *GROUP_FEATURES, *TRANSACTION_FEATURES)

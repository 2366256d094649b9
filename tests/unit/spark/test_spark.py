"""The package's own functions."""

import cordwood.spark


def test_package_offers_its_functions_without_importing_spark() -> None:
    assert {"read", "register", "scan"} <= set(cordwood.spark.__all__)

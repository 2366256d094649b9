"""Libraries of the formats, which the extra `spark` installs on the driver and the workers."""

from importlib import import_module
from typing import Final

from cordwood.core.errors import SparkError
from cordwood.core.installation import install_command

#: The modules of the libraries.
FASTAVRO: Final = "fastavro"
PROTOBUF: Final = "google.protobuf"
_NAMES: Final = {FASTAVRO: "Avro: the library fastavro", PROTOBUF: "Protobuf: the library protobuf"}
_PACKAGES: Final = {FASTAVRO: "fastavro", PROTOBUF: "protobuf"}


def ensure_library(module: str) -> None:
    """Raise SparkError if a library cannot be imported on this machine."""
    try:
        import_module(module)
    except ImportError as error:
        raise SparkError(
            f"{_NAMES[module]} cannot be imported ({error})",
            remedy=f"{install_command(_PACKAGES[module])} on the driver and the workers",
        ) from error

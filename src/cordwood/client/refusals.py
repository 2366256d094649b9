"""From a code in an answer to an error that says what it is about."""

from cordwood.core.errors import KafkaError, error_for_code, error_from_code


def refusal(code: int, *, subject: str, message: str | None = None, remedy: str = "") -> KafkaError:
    """Return the error of a code; the broker's own words count, else what the code means."""
    said = (message or error_for_code(code).__doc__ or "").strip().split("\n")[0].rstrip(".")
    return error_from_code(code, f"{subject}: {said}" + (f"; {remedy}" if remedy else ""))


def ensure_done(code: int, *, subject: str, message: str | None = None) -> None:
    """Raise the error of a code, unless it says that all went well."""
    if code:
        raise refusal(code, subject=subject, message=message)

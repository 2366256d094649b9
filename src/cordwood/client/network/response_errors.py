"""Errors built from the error codes of responses, with the subject that they concern."""

from cordwood.core.errors import KafkaError, error_for_code, error_from_code


def error_of(
    code: int, *, subject: str, message: str | None = None, remedy: str = ""
) -> KafkaError:
    """Return the error of a code; the broker's message wins over the code's description."""
    text = (message or error_for_code(code).__doc__ or "").strip().split("\n")[0].rstrip(".")
    return error_from_code(code, f"{subject}: {text}" + (f"; {remedy}" if remedy else ""))


def ensure_success(code: int, *, subject: str, message: str | None = None) -> None:
    """Raise the error of a code, unless the code means success."""
    if code:
        raise error_of(code, subject=subject, message=message)

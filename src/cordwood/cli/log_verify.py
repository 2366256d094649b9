"""`cordwood log verify`: checks of whole partitions."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.log_sizes import count_log_bytes
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import print_output
from cordwood.cli.topic_config_options import BrokerConfig, Config, settings_finder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cordwood.core.ports import Files
    from cordwood.workbench.certificate_check import CertificateCheck
    from cordwood.workbench.verify.findings import VerifiedPartition

Paths = Annotated[list[str], typer.Argument(help="Log directories, partitions or segment files.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
CertificateFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Compare the cleaned records with the certificates of cordwood compact in this file.",
    ),
]


def verify(
    paths: Paths,
    *,
    certificate: CertificateFile = None,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: Json = False,
) -> None:
    """Verify every checksum, record, index and snapshot; exit with 1 if something is wrong."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # as above
    from cordwood.workbench import verdicts as work  # noqa: PLC0415  # as above

    places, files = [absolute_path(path) for path in paths], SystemFiles()
    settings = settings_finder(files, config=config, broker_config=broker_config)
    size = count_log_bytes(places)
    with show_progress(size) as advance:
        found = work.verify_with_verdicts(
            files, places, settings=settings, checker=batch_checker(), on_bytes=advance
        )
    certified: tuple[CertificateCheck, ...] = ()
    if certificate is not None:
        certified = _check_certificates(files, absolute_path(certificate), found.partitions)
    if as_json:
        whole = json.loads(found.to_json())
        if certificate is not None:
            whole["certificates"] = [json.loads(each.to_json()) for each in certified]
        print_output(json.dumps(whole))
    else:
        print_output("\n".join([str(found), *map(str, certified)]))
    if found.is_wrong or any(each.is_wrong for each in certified):
        raise typer.Exit(FOUND_WRONG)


def _check_certificates(
    files: "Files", path: str, partitions: "Sequence[VerifiedPartition]"
) -> "tuple[CertificateCheck, ...]":
    """Compare each certificate in a file with its partition, in every given log directory."""
    from cordwood.records.kernels import decoder, state_scanner  # noqa: PLC0415  # help needs none of it
    from cordwood.workbench import certificate_check as work  # noqa: PLC0415  # as above
    from cordwood.workbench.record_digest import RecordReaders  # noqa: PLC0415  # as above

    checked = []
    readers = RecordReaders(decoder(), state_scanner())
    for certificate in work.read_certificates(files, path).values():
        places = [each.path for each in partitions if each.partition == certificate.partition]
        checked += [
            work.check_certificate(files, place, certificate=certificate, readers=readers)
            for place in places
        ] or [work.missing_partition(certificate)]
    return tuple(checked)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: cordwood log verify logs/orders-0")(verify)

"""`cordwood log picture`: drawings of logs in the terminal, or one as SVG."""

import shutil
from pathlib import Path
from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.log_targets import partitions_at
from cordwood.cli.terminal import print_message, print_output

EXAMPLE: Final = "Example: cordwood log picture kafka-logs/orders-0 --svg orders-0.svg"

Directory = Annotated[str, typer.Argument(help="Directory of a partition, or log directory.")]
Svg = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write one partition as SVG to this file.")
]
Width = Annotated[
    int | None, typer.Option(min=40, help="Columns of the drawing.  [default: the terminal's]")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the facts as JSON objects, one a line.")
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(picture)


def picture(
    directory: Directory, *, svg: Svg = None, width: Width = None, as_json: AsJson = False
) -> None:
    """Draw segments, sizes, checkpoints and open transactions of a log."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.workbench.picture.log_picture import read_picture  # noqa: PLC0415  # as above
    from cordwood.workbench.picture.picture_lines import picture_lines  # noqa: PLC0415  # as above
    from cordwood.workbench.picture.picture_svg import picture_svg  # noqa: PLC0415  # as above

    files = SystemFiles()
    paths = partitions_at(files, absolute_path(directory))
    if svg is not None and len(paths) > 1:
        raise typer.BadParameter(f"--svg draws one partition ({len(paths)} are given)")
    columns = width or shutil.get_terminal_size().columns
    for path in paths:
        found = read_picture(files, path)
        if svg is not None:
            Path(svg).write_text(picture_svg(found), encoding="utf-8")
            print_message(f"note: wrote {svg}")
        elif as_json:
            print_output(found.to_json())
        else:
            print_output("\n".join(picture_lines(found, width=columns)))

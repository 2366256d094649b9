"""Compile every kernel, then say so in the cache: what `warm` runs in a child process."""

from cordwood.records.kernels import cache


def main() -> None:
    """Import what is decorated, which compiles it, and write the marker last."""
    place = cache.folder()
    import cordwood.records.kernels.inspect  # noqa: PLC0415  # compiles as it is imported
    import cordwood.records.kernels.kernel_decoder  # noqa: PLC0415  # as above
    import cordwood.records.kernels.lines  # noqa: PLC0415  # as above
    import cordwood.records.kernels.sweep  # noqa: F401, PLC0415  # as above

    cache.mark_ready(place)


if __name__ == "__main__":
    main()

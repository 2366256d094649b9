"""`python -m cordwood`: the command line, for machines without the script on the path."""

from cordwood.cli import main

if __name__ == "__main__":
    main()

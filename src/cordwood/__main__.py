"""`python -m cordwood`: the command line, for who has not its script on the path."""

from cordwood.cli import main

if __name__ == "__main__":
    main()

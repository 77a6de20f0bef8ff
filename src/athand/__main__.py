"""`python -m athand` is the command `athand`, where that is not on the path."""

from athand.adapters.cli import main

if __name__ == "__main__":
    main()

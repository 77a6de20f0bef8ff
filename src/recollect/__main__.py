"""`python -m recollect` is the command `recollect`, where that is not on the path."""

from recollect.adapters.cli import main

if __name__ == "__main__":
    main()

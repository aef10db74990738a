"""`python -m roslin` is the command line too."""

from roslin.cli import main

if __name__ == "__main__":
    main()

"""`python -m roslin` is the command line too."""

from roslin.cli import main

main()

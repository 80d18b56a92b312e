"""`python -m simsgd ARGUMENTS` is `simsgd ARGUMENTS`."""

from .program import main

main()

"""`python -m simsgd ARGUMENTS` is `simsgd ARGUMENTS`."""

import os
import sys

from .program import environment, find_program


def main() -> None:
    program = find_program()
    os.execve(program, [program, *(sys.argv[1:] or ["--help"])], environment(program))


if __name__ == "__main__":
    main()

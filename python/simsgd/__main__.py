"""`python -m simsgd ARGUMENTS` is `simsgd ARGUMENTS`; `python -m simsgd quickstart` runs the first study."""

import os
import sys

from .program import environment, find_program


def main() -> None:
    words = sys.argv[1:] or ["--help"]
    if words[0] == "quickstart":
        words = ["sweep", "run", "quickstart.json", *words[1:]]
        if not os.path.isdir("/usr/share/datasets/fashion-mnist"):
            print("Fashion-MNIST is not here (Debian's dataset-fashion-mnist): a generated data set is learned in its place.", file=sys.stderr)
            words += ["--set", '/learner/data={"name": "gaussian_mixture"}', "--set", "/target=null"]
    program = find_program()
    os.execve(program, [program, *words], environment(program))


if __name__ == "__main__":
    main()

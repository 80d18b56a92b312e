"""What can go wrong, as exceptions."""

from typing import List, NamedTuple


class SimSGDError(Exception):
    """Whatever SimSGD raises."""


class ProgramError(SimSGDError):
    """The program is missing, of another version, or was ended from outside."""


class RunFailed(SimSGDError):
    """A run began and could not finish; `output` is what the command printed before."""

    def __init__(self, text: str, exit_code: int, output: str = ""):
        super().__init__(text)
        self.exit_code = exit_code
        self.output = output


class Problem(NamedTuple):
    """One thing that is wrong with the input."""

    file: str  #: as you named it; "<stdin>" is a dict that you gave, "--set" a value that you set
    pointer: str  #: JSON pointer in the file
    problem: str
    found: str  #: the value, as JSON
    remedy: str  #: what would be right
    text: str  #: all of it in a sentence


class InputError(SimSGDError, ValueError):
    """Bad input, all of it at once; nothing was run or written."""

    def __init__(self, text: str, problems: List[Problem] = ()):
        super().__init__(text)
        self.problems = [*problems]

    def _first(self, name: str) -> str:
        return getattr(self.problems[0], name) if self.problems else ""

    file = property(lambda self: self._first("file"))
    pointer = property(lambda self: self._first("pointer"))
    remedy = property(lambda self: self._first("remedy"))

"""What can go wrong, as exceptions."""

from typing import NamedTuple, Sequence


class SimSGDError(Exception):
    """Whatever SimSGD raises."""


class ProgramError(SimSGDError):
    """The program is missing, of another version, or was ended from outside."""


class RunFailed(SimSGDError):
    """A run began and could not finish; `output` is what the command printed before."""

    def __init__(self, text: str, exit_code: int, output: str = ""):
        super().__init__(text)
        self.exit_code, self.output = exit_code, output


class Problem(NamedTuple):
    """One thing that is wrong with the input."""

    file: str  #: as you named it; "<stdin>" is a dict that you gave, "--set" a value that you set
    pointer: str  #: JSON pointer in the file
    problem: str
    found: str  #: the value, as JSON
    remedy: str  #: what would be right
    text: str  #: all of it in a sentence


class InputError(SimSGDError, ValueError):
    """Bad input, all of it at once; nothing was run or written. `file`, `pointer` and `remedy` are the first problem's."""

    def __init__(self, text: str, problems: Sequence[Problem] = ()):
        super().__init__(text)
        self.problems = [*problems]
        self.file, self.pointer, _, _, self.remedy, _ = self.problems[0] if problems else Problem("", "", text, "", "", text)

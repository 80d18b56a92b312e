"""SimSGD from Python: it drives the program `simsgd`, and needs nothing but the standard library.

    run = simsgd.run("scenarios/quickstart.json", {"/cluster/workers": 64})
    frame = simsgd.Study("scenarios/quickstart.json").over("/cluster/workers", [4, 16, 64]).seeds(5).run("workers.db").frame()

docs/python.md tells the rest: methods of your own, errors, exports."""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"  # of the program that this package drives

from .errors import InputError, Problem, ProgramError, RunFailed, SimSGDError
from .program import command, find_program
from .study import Chart, Study, StudyResults, sweep
from .verbs import Result, advise, bench, calibrate, explain, list, report, run

results = StudyResults  # of a file: results("workers.db")
if TYPE_CHECKING:
    from .recording import record

__all__ = ["Chart", "InputError", "Problem", "ProgramError", "Result", "RunFailed", "SimSGDError", "Study", "StudyResults",
           "__version__", "advise", "bench", "calibrate", "command", "explain", "find_program", "list", "record", "report",
           "results", "run", "sweep"]


def __getattr__(name: str) -> Any:
    if name != "record":  # needs PyTorch
        raise AttributeError(f"module simsgd has no {name}")
    from .recording import record
    return record

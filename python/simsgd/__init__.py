"""SimSGD from Python: it drives the program `simsgd`, and needs nothing but the standard library.

    import simsgd
    run = simsgd.run("scenarios/quickstart.json", {"/cluster/workers": 64})
    run.metrics["throughput_samples_per_s"], run.intervals, run.notes, run.curves["train_loss"]

    study = simsgd.Study("scenarios/studies/tutorial.json").over("/cluster/workers", [4, 16, 64]).seeds(5)
    frame = study.run("workers.db").frame()                  # pandas: a row a run
    frame.simsgd.winners("throughput_samples_per_s")         # the program's own statistics

docs/python.md tells the rest: methods of your own, errors, exports.
"""

__version__ = "0.1.0"  # of the program that this package drives

from .errors import InputError, Problem, ProgramError, RunFailed, SimSGDError
from .program import command, find_program
from .result import Result, run
from .study import Chart, Study, StudyResults, sweep
from .verbs import advise, bench, calibrate, explain, list, record, report, results

__all__ = ["Chart", "InputError", "Problem", "ProgramError", "Result", "RunFailed", "SimSGDError", "Study", "StudyResults",
           "__version__", "advise", "bench", "calibrate", "command", "explain", "find_program", "list", "record", "report",
           "results", "run", "sweep"]

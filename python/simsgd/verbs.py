"""The verbs of the program, with their answers as Python has them: `run` gives a Result, those of studies are in study.py.
Options are those of the command line, as keywords."""

import html
import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .errors import InputError
from .method import source_of
from .program import command

Path = Union[str, "os.PathLike[str]"]
Scenario = Union[Path, Mapping[str, Any]]  # a file, or what would be in one
Overrides = Optional[Mapping[str, Any]]  # values by JSON pointer
Method = Union[str, Callable[..., Any]]  # a name, or a method in Python (docs/python.md)


def to_json(value: Any) -> str:
    """JSON; numbers and arrays of numpy are numbers and lists."""
    def plain(other: Any) -> Any:
        written = getattr(other, "tolist", None) or getattr(other, "__fspath__", None)
        if not written:
            raise TypeError(f"{other!r} cannot be written as JSON; use numbers, texts, lists and dicts")
        return written()
    return json.dumps(value, default=plain)


def flags(options: Mapping[str, Any]) -> List[str]:
    """budget=20 is --budget 20, check=True is --check, b=8 is -b 8, where=[1, 2] is --where 1 --where 2; None and False are nothing."""
    words: List[str] = []
    for name, value in options.items():
        for each in value if hasattr(value, "__iter__") and not isinstance(value, str) else [value]:
            if each is not None and each is not False:
                words += [("-" if len(name) == 1 else "--") + name.replace("_", "-"), *([] if each is True else [str(each)])]
    return words


def ask(verb: str, scenario: Scenario, overrides: Overrides, *words: Any, **rest: Any) -> str:
    """`simsgd VERB SCENARIO`, with settings and `words`; a dict is its standard input. `rest` as command() has it."""
    if not isinstance(scenario, (Mapping, str, os.PathLike)):
        raise InputError(f"A scenario is a file's name or a dict, and not {scenario!r:.60}")
    name, text = ("-", to_json(dict(scenario))) if isinstance(scenario, Mapping) else (os.fspath(scenario), "")
    settings = [f"{pointer}={to_json(value)}" for pointer, value in (overrides or {}).items()]
    return command(*verb.split(), name, *flags({"set": settings}), *words, input=text, **rest)


def algorithm_section(algorithm: Method, options: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """The section "algorithm" of a scenario."""
    if callable(algorithm):
        return {"name": "python", "function": algorithm.__name__, "source": source_of(algorithm), "options": dict(options or {})}
    return {"name": algorithm, **(options or {})}


class Result:
    """What a run gave. `document` is all of it (docs/results.md)."""

    def __init__(self, document: Dict[str, Any]):
        self.document = document
        self.scenario: Dict[str, Any] = document["scenario"]
        self.metrics: Dict[str, float] = document["metrics"]
        self.intervals: Dict[str, List[Dict[str, float]]] = document.get("intervals", {})
        self.notes: List[str] = document.get("notes", [])

    @property
    def curves(self) -> Dict[str, List[Tuple[float, float]]]:
        """Pairs of simulated seconds and values: train_loss, test_accuracy, test_loss, consensus_distance."""
        curves: Dict[str, List[Tuple[float, float]]] = {}
        for row in (row for rows in self.document.get("series", {}).values() for row in rows):
            for name, value in row.items():
                if name not in ("step", "time_s") and isinstance(value, (int, float)):
                    curves.setdefault(name, []).append((row["time_s"], value))
        return curves

    def __repr__(self) -> str:
        return f"<simsgd.Result {self.scenario.get('name', '')}: {len(self.metrics)} metrics>"

    def ask(self, verb: str, *words: Any) -> str:
        """`simsgd VERB` about this run: ask("report", "-", "--format", "md"), where "-" is this run."""
        return command(verb, *words, input=to_json(self.document))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        """For notebooks: charts, and a table with the notes."""
        charts = self.ask("report", "-", "--format", "notebook", *flags({"chart": ["loss", "accuracy", "breakdown"]}))
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return {**json.loads(charts), "text/plain": repr(self), "text/html": self.ask("results", "show", "-", "1", "--format", "html") + notes}

    def to_wandb(self, path: Path) -> None:
        """JSON lines as W&B's history has them: a line an instant, with its curves."""
        self.ask("results", "export", "-", "--format", "wandb", "-o", path)

    def to_tensorboard(self, directory: Path) -> str:
        """An event file of the curves in a folder; simulated seconds are both step (in ms) and wall time. Returns its path."""
        return self.ask("results", "export", "-", "--format", "tensorboard", "-o", directory).strip()


def run(scenario: Scenario, overrides: Overrides = None, *, algorithm: Optional[Method] = None, options: Optional[Mapping[str, Any]] = None,
        point: int = 0, seed: Optional[int] = None, threads: Optional[int] = None, draws: Optional[int] = None,
        said: Optional[Callable[[str], None]] = None) -> Result:
    """Simulates one scenario, with `overrides`: values by JSON pointer. `algorithm`: a name, or a method in Python, with its
    `options`. `point`: of a study, as `simsgd sweep plan` counts; 0: without its axes. `said` is told what comes on stderr."""
    if options and algorithm is None:
        raise InputError("There are options and no algorithm to give them to. Name it too, or set /algorithm/KEY in the overrides")
    section = {} if algorithm is None else {"/algorithm": algorithm_section(algorithm, options)}
    words = ["--json", *flags({"point": point, "seed": seed, "threads": threads, "draws": draws})]
    return Result(json.loads(ask("run", scenario, {**section, **(overrides or {})}, *words, said=said)))


def list(kind: str, name: Optional[str] = None) -> Any:
    """Algorithms, clusters, devices, metrics, ...: all of a kind, one of them, or what a key of scenarios means."""
    return json.loads(command("list", kind, *([name] if name else []), "--json"))


def report(file: Path, output: Path, **options: Any) -> str:
    """The page of a study's results (`simsgd report`); returns its path."""
    command("report", file, "-o", output, *flags(options))
    return os.fspath(output)


def advise(scenario: Scenario, overrides: Overrides = None, **options: Any) -> Any:
    """The best method and settings for a budget: advise(S, target="throughput", budget=20)."""
    return json.loads(ask("advise", scenario, overrides, "--json", *flags(options)))


def bench(operation: str, **options: Any) -> Any:
    """One collective over sizes: bench("all_reduce", workers=16, b=8, e="1G", f=2)."""
    return json.loads(command("bench", operation, "--json", *flags(options)))


def explain(**options: Any) -> Any:
    """Why N GPUs are not N times one: explain(parameters=110e6, step="0.13s", gpus=16, network="10gbe")."""
    return json.loads(command("explain", "--json", *flags(options)))


def calibrate(specification: Scenario, *logs: Path, **options: Any) -> Any:
    """Fits a cluster to measurements: of a specification, a file or a dict whose files are looked for from here on (or in
    `data`), or of logs of nccl-tests and the like. With `output` the cluster's file is written. Returns the report."""
    return json.loads(ask("calibrate", specification, None, *logs, "--json", *flags(options)))

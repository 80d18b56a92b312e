"""One run: `run`, and the Result that it gives."""

import html
import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .errors import InputError
from .method import source_of
from .program import command

Path = Union[str, "os.PathLike[str]"]
Scenario = Union[Path, Mapping[str, Any]]  # a file, or what would be in one


def to_json(value: Any) -> str:
    """JSON; numbers and arrays of numpy are numbers and lists."""
    def plain(other: Any) -> Any:
        for method in ("tolist", "item", "__fspath__"):
            if hasattr(other, method):
                return getattr(other, method)()
        raise TypeError(f"{other!r} cannot be written as JSON; use numbers, texts, lists and dicts")
    return json.dumps(value, default=plain)


def place(scenario: Scenario) -> Tuple[str, str]:
    """How a command line names it, and what then comes as standard input."""
    if not isinstance(scenario, (Mapping, str, os.PathLike)):
        raise InputError(f"A scenario is a file's name or a dict, and not {scenario!r:.60}")
    return ("-", to_json(dict(scenario))) if isinstance(scenario, Mapping) else (os.fspath(scenario), "")


def settings(overrides: Optional[Mapping[str, Any]]) -> List[str]:
    return [word for pointer, value in (overrides or {}).items() for word in ("--set", f"{pointer}={to_json(value)}")]


def flags(options: Mapping[str, Any]) -> List[str]:
    """budget=20 is --budget 20, check=True is --check, b=8 is -b 8, where=[1, 2] is --where 1 --where 2; None and False are nothing."""
    words: List[str] = []
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is not None and each is not False:
                words += [("-" if len(name) == 1 else "--") + name.replace("_", "-"), *([] if each is True else [str(each)])]
    return words


def algorithm_section(algorithm: Union[str, Callable[..., Any]], options: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
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

    def frame(self) -> Any:
        """The curves as a pandas DataFrame: curve, time_s, value."""
        import pandas
        rows = [(name, *point) for name, points in self.curves.items() for point in points]
        return pandas.DataFrame(rows, columns=["curve", "time_s", "value"])

    def __repr__(self) -> str:
        return f"<simsgd.Result {self.scenario.get('name', '')}: {len(self.metrics)} metrics>"

    def ask(self, verb: str, *words: Any) -> str:
        """`simsgd VERB` about this run: ask("report", "-", "--format", "md"), where "-" is this run."""
        return command(verb, *words, input=to_json(self.document))

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return self.ask("results", "show", "-", "1", "--format", "html") + notes

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        shown = json.loads(self.ask("report", "-", "--format", "notebook", *flags({"chart": ["loss", "accuracy", "breakdown"]})))
        return {**shown, "text/plain": repr(self), "text/html": self._repr_html_()}

    def to_wandb(self, path: Path) -> None:
        """JSON lines as W&B's history has them: a line an instant, with its curves."""
        self.ask("results", "export", "-", "--format", "wandb", "-o", os.fspath(path))

    def to_tensorboard(self, directory: Path) -> str:
        """An event file of the curves in a folder; simulated seconds are both step (in ms) and wall time. Returns its path."""
        return self.ask("results", "export", "-", "--format", "tensorboard", "-o", os.fspath(directory)).strip()


def run(scenario: Scenario, overrides: Optional[Mapping[str, Any]] = None, *, algorithm: Union[str, Callable[..., Any], None] = None,
        options: Optional[Mapping[str, Any]] = None, point: int = 0, seed: Optional[int] = None, threads: Optional[int] = None,
        draws: Optional[int] = None, said: Optional[Callable[[str], None]] = None) -> Result:
    """Simulates one scenario. `overrides`: values by JSON pointer. `algorithm`: a name, or a method in Python
    (docs/python.md) with its `options`. `point`: of a study, as `simsgd sweep plan` counts; 0: without its axes."""
    if options and algorithm is None:
        raise InputError("There are options and no algorithm to give them to. Name it too, or set /algorithm/KEY in the overrides")
    name, text = place(scenario)
    section = {} if algorithm is None else {"/algorithm": algorithm_section(algorithm, options)}
    numbers = flags({"point": point, "seed": seed, "threads": threads, "draws": draws})
    return Result(json.loads(command("run", name, "--json", *numbers, *settings(section), *settings(overrides), input=text, said=said)))

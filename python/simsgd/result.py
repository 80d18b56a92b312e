"""One run: `run`, and the Result that it gives."""

import html
import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .errors import InputError
from .method import source_of
from .output import output
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
    """budget=20 is --budget 20, check=True is --check, b=8 is -b 8; None and False are nothing."""
    words: List[str] = []
    for name, value in options.items():
        if value is not None and value is not False:
            words += [("-" if len(name) == 1 else "--") + name.replace("_", "-"), *([] if value is True else [str(value)])]
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
        self.notes: List[Any] = document.get("notes", [])

    @property
    def curves(self) -> Dict[str, List[Tuple[float, float]]]:
        """Pairs of simulated seconds and values: train_loss, test_accuracy, test_loss, consensus_distance."""
        curves: Dict[str, List[Tuple[float, float]]] = {}
        for row in (row for rows in self.document.get("series", {}).values() for row in rows):
            for name, value in row.items():
                if name not in ("step", "time_s") and isinstance(value, (int, float)):
                    curves.setdefault(name, []).append((row["time_s"], value))
        return curves

    def _points(self) -> List[Dict[str, Any]]:
        return [{"curve": name, "time_s": time_s, "value": value} for name, points in self.curves.items() for time_s, value in points]

    def frame(self) -> Any:
        """The curves as a pandas DataFrame: curve, time_s, value."""
        import pandas
        return pandas.DataFrame(self._points(), columns=["curve", "time_s", "value"])

    def __repr__(self) -> str:
        return f"<simsgd.Result {self.scenario.get('name', '')}: {len(self.metrics)} metrics>"

    def _repr_html_(self) -> str:
        def interval(name: str) -> str:
            return ", ".join(f"{100 * each['level']:.0f} %: {each['low']:.4g} to {each['high']:.4g}" for each in self.intervals.get(name, []))
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{value:.6g}</td><td>{interval(name)}</td></tr>"
                       for name, value in self.metrics.items() if isinstance(value, (int, float)))
        notes = "".join(f"<li>{html.escape(each['text'] if isinstance(each, dict) else str(each))}</li>" for each in self.notes)
        return f"<table><tr><th>{html.escape(self.scenario.get('name', 'run'))}</th><th>SI</th><th>interval</th></tr>{rows}</table><ul>{notes}</ul>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        bundle: Dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if self.curves:
            bundle["application/vnd.vegalite.v5+json"] = {
                "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"values": self._points()}, "mark": "line",
                "encoding": {"x": {"field": "time_s", "type": "quantitative", "title": "simulated time (s)"}, "row": {"field": "curve"},
                             "y": {"field": "value", "type": "quantitative", "scale": {"zero": False}}},
                "resolve": {"scale": {"y": "independent"}}}
        return bundle

    def to_wandb(self, path: Path) -> None:
        """JSON lines as W&B's history has them: a line an instant, with its curves."""
        from .export import history
        with output(path) as file:
            file.writelines(json.dumps(row) + "\n" for row in history(self.curves))

    def to_tensorboard(self, directory: Path) -> str:
        """An event file of the curves in a folder; simulated seconds are both step (in ms) and wall time. Returns its path."""
        from .export import write_events
        return write_events(self.curves, directory)


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

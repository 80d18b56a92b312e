"""One run: `run`, and the Result that it gives."""

import html
import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

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
    return ("-", to_json(dict(scenario))) if isinstance(scenario, Mapping) else (os.fspath(scenario), "")


def settings(overrides: Mapping[str, Any]) -> List[str]:
    return [word for pointer, value in overrides.items() for word in ("--set", f"{pointer}={to_json(value)}")]


def algorithm_section(algorithm: Union[str, Callable[..., Any]], options: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """The section "algorithm" of a scenario."""
    if callable(algorithm):
        return {"name": "python", "function": algorithm.__name__, "source": source_of(algorithm), "options": dict(options or {})}
    return {"name": algorithm, **(options or {})}


class Result:
    """What a run gave. `document` is all of it (docs/results.md)."""

    def __init__(self, document: Dict[str, Any]):
        self.document = document
        self.metrics: Dict[str, float] = document["metrics"]
        self.intervals: Dict[str, List[Dict[str, float]]] = document.get("intervals", {})
        self.notes: List[Any] = document.get("notes", [])
        self.scenario: Dict[str, Any] = document["scenario"]

    @property
    def curves(self) -> Dict[str, List[Tuple[float, float]]]:
        """Pairs of simulated seconds and values: train_loss, test_accuracy, test_loss, consensus_distance."""
        curves: Dict[str, List[Tuple[float, float]]] = {}
        for rows in self.document.get("series", {}).values():
            for row in rows:
                for name, value in row.items():
                    if name not in ("step", "time_s") and isinstance(value, (int, float)):
                        curves.setdefault(name, []).append((row["time_s"], value))
        return curves

    def frame(self) -> Any:
        """The curves as a pandas DataFrame: curve, time_s, value."""
        import pandas
        return pandas.DataFrame([(name, *point) for name, points in self.curves.items() for point in points],
                                columns=["curve", "time_s", "value"])

    def __repr__(self) -> str:
        return f"<simsgd.Result {self.scenario.get('name', '')}: {len(self.metrics)} metrics>"

    def _repr_html_(self) -> str:
        rows = []
        for name, value in self.metrics.items():
            if isinstance(value, (int, float)):
                wide = self.intervals.get(name, [])
                within = ", ".join(f"{100 * each['level']:.0f} %: {each['low']:.4g} to {each['high']:.4g}" for each in wide)
                rows.append(f"<tr><td>{html.escape(name)}</td><td>{value:.6g}</td><td>{within}</td></tr>")
        notes = "".join(f"<li>{html.escape(each['text'] if isinstance(each, dict) else str(each))}</li>" for each in self.notes)
        return (f"<table><tr><th>{html.escape(str(self.scenario.get('name', 'run')))}</th><th>SI</th><th>interval</th></tr>"
                f"{''.join(rows)}</table>" + (f"<ul>{notes}</ul>" if notes else ""))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        bundle: Dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        values = [{"curve": name, "time_s": t, "value": v} for name, points in self.curves.items() for t, v in points]
        if values:
            bundle["application/vnd.vegalite.v5+json"] = {
                "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"values": values}, "mark": "line",
                "encoding": {"x": {"field": "time_s", "type": "quantitative", "title": "simulated time (s)"},
                             "y": {"field": "value", "type": "quantitative", "scale": {"zero": False}},
                             "row": {"field": "curve"}}, "resolve": {"scale": {"y": "independent"}}}
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
    name, text = place(scenario)
    words: List[str] = ["run", name, "--json", "--point", str(point)]
    if algorithm is not None:
        words += settings({"/algorithm": algorithm_section(algorithm, options)})
    words += settings(overrides or {})
    for flag, value in (("--seed", seed), ("--threads", threads), ("--draws", draws)):
        if value is not None:
            words += [flag, str(int(value))]
    return Result(json.loads(command(*words, input=text, said=said)))

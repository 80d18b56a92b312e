"""Studies: a scenario with axes, run in parallel, kept in a file and asked by the program's own statistics."""

import csv
import dataclasses
import io
import json
import os
import re
import sys
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .errors import InputError
from .program import command
from .verbs import Overrides, Path, Scenario, algorithm_section, ask, flags

Names = Union[str, Sequence[str]]  # "a,b" or ["a", "b"]
Values = Union[Sequence[Any], Mapping[str, Any]]
Progress = Union[bool, Callable[[int, int], None]]


class Study:
    """A scenario and its axes. `over` and `seeds` return a study with more; this one stays as it is."""

    def __init__(self, base: Scenario, overrides: Overrides = None):
        self.base, self.overrides = base, dict(overrides or {})

    def over(self, pointer: str, values: Values, *, name: Optional[str] = None, options: Optional[Mapping[str, Any]] = None) -> "Study":
        """Another axis: every value, with all values of the other axes; a dict has labels for them. Along /algorithm/name every
        method has its defaults, in place of the base's; there may be names, sections ({"name": "wagma", "period": 5}), and
        methods in Python, to which `options` go."""
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise InputError(f"The values of {pointer} are a list, or a dict of labels and values, and not {values!r:.60}")
        pointer = "/algorithm" if pointer == "/algorithm/name" else pointer  # a method is a whole section

        def written(value: Any) -> Any:
            plain = pointer != "/algorithm" or isinstance(value, Mapping)
            return value if plain else algorithm_section(value, options if callable(value) else None)
        if isinstance(values, Mapping):
            labelled = [{"label": label, "set": {pointer: written(value)}} for label, value in values.items()]
            axis: Dict[str, Any] = {"name": name or pointer[1:], "values": labelled}
        else:
            axis = {"pointer": pointer, **({"name": name} if name else {}), "values": [written(value) for value in values]}
        return Study(self.base, {**self.overrides, "/axes": [*self.overrides.get("/axes", []), axis]})

    def seeds(self, seeds: Any) -> "Study":
        """How many, which, or a rule (docs/study_language.md)."""
        return Study(self.base, {**self.overrides, "/seeds": seeds})

    def run(self, database: Optional[Path] = None, *, jobs: Optional[int] = None, timeout: Optional[float] = None,
            progress: Progress = True, allow_failed: bool = False) -> "StudyResults":
        """Runs the points that `database` does not have. Without one, results are kept for as long as the StudyResults. Points
        that fail are an exception (RunFailed), after all others have run, or with `allow_failed` rows that say so."""
        folder = None if database else tempfile.TemporaryDirectory(prefix="simsgd-")
        file = os.path.join(folder.name, "results.db") if folder else os.fspath(database or "")
        ask("sweep run", self.base, self.overrides, *flags({"output": file, "jobs": jobs, "timeout": timeout}), said=_heard(progress),
            allowed=(0, 3) if allow_failed else (0,))
        return StudyResults(file, folder)


def sweep(study: Scenario, database: Optional[Path] = None, **options: Any) -> "StudyResults":
    """Runs a study's file, or a dict with axes: `Study(study).run(database, **options)`."""
    return Study(study).run(database, **options)


class Chart:
    """A chart of `simsgd report`, as its page shows it first: of an axis that readers choose a value of, the first. A notebook
    draws it with Vega-Lite, or shows its picture, or its table, whatever can be had (docs/report.md)."""

    def __init__(self, results: "StudyResults", described: Mapping[str, Any]):
        self.spec, self.title, self.caption, self.name = (described[key] for key in ("spec", "title", "caption", "chart"))
        self._results, self._study = results, described["id"]  # whose file may be a temporary one

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return json.loads(command("report", self._results.file, *flags({"chart": self.name, "study": self._study, "format": "notebook"})))


@dataclasses.dataclass
class StudyResults:
    """Results in a file of the program (docs/store.md). `study` names one of a file with several."""

    file: Path
    _folder: Any = dataclasses.field(default=None, repr=False)  # which is removed with this object

    def table(self, question: str, *words: Any) -> str:
        """`simsgd results QUESTION`, as the program prints it: results.table("list"), ("winners", "--format", "latex")."""
        return command("results", question, self.file, *words)

    def csv(self, question: str, **options: Any) -> io.StringIO:
        """The same as CSV, to be read: results.csv("table", metric="wait_s")."""
        return io.StringIO(self.table(question, *flags({"format": "csv", **options})))

    def export(self, path: Path, study: Optional[str] = None) -> None:
        """A row a run as .csv, or a document a line, of all studies, as .jsonl. Tables for papers: `table`."""
        formats = {".csv": "csv", ".jsonl": "json"}
        chosen = formats.get(os.path.splitext(path)[1])
        if not chosen:
            raise InputError(f"{path} has no known ending. Use {', '.join(formats)}")
        self.table("export", *flags({"output": path, "format": chosen, "study": study}))

    def frame(self, study: Optional[str] = None) -> Any:
        """pandas: a row a run, with its axes and metrics, and `frame.simsgd` to ask the program."""
        def ask_program(question: str, **options: Any) -> Any:
            return _pandas().read_csv(self.csv(question, study=study, **options))
        frame = ask_program("export")
        frame.attrs["simsgd"] = ask_program  # copies of the frame have it too
        return frame

    def rows(self, study: Optional[str] = None) -> List[Dict[str, str]]:
        """The same without pandas: a dict a run, values as texts."""
        return [*csv.DictReader(self.csv("export", study=study))]

    def chart(self, name: str) -> Chart:
        """One of the report's charts."""
        for described in json.loads(command("report", self.file, "--format", "vega", "--chart", name)):
            return Chart(self, described)
        others = json.loads(command("report", self.file, "--format", "vega"))
        raise InputError(f"This study has no chart {name}. It has {', '.join(each['chart'] for each in others)}")


class FrameQuestions:
    """frame.simsgd: the program's own statistics of the frame's study, over all its runs; `where` selects some ("workers=64")."""

    def __init__(self, frame: Any):
        if "simsgd" not in frame.attrs:
            raise AttributeError("this frame does not come from StudyResults.frame()")
        self._ask = frame.attrs["simsgd"]

    def winners(self, metric: Optional[str] = None, where: Names = ()) -> Any:
        """The best choice for each value of the circumstances, by how much, and how sure that is."""
        return self._ask("winners", metric=metric, where=where)

    def table(self, metric: str, rows: Names = (), columns: Names = (), where: Names = ()) -> Any:
        """Means over seeds with their intervals, over the axes."""
        return self._ask("table", metric=metric, rows=rows, columns=columns, where=where)

    def compare(self, by: str, baseline: Any, metric: str, where: Names = ()) -> Any:
        """The values of an axis against one of them, seed by seed, with a verdict."""
        return self._ask("compare", by=by, baseline=baseline, metric=metric, where=where)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("frames need pandas (Debian: python3-pandas); without it use rows() and table()") from None
    if not hasattr(pandas.DataFrame, "simsgd"):
        pandas.api.extensions.register_dataframe_accessor("simsgd")(FrameQuestions)
    return pandas


def _heard(progress: Progress) -> Callable[[str], None]:
    """Progress, of what the program says: in a notebook a bar, on a terminal a line, else nothing."""
    shown: Callable[[int, int], Any] = progress if callable(progress) else lambda done, of: None
    if progress is True and "ipykernel" in sys.modules:
        from IPython.display import HTML, display
        bar = display(HTML(""), display_id=True)
        shown = lambda done, of: bar.update(HTML(f"<progress max={of} value={done}></progress> {done} of {of} runs"))
    elif progress is True and sys.stderr.isatty():
        shown = lambda done, of: print(f"\r{done} of {of} runs", end="\n" if done == of else "", file=sys.stderr)

    def hear(line: str) -> None:
        for done, of in re.findall(r"\((\d+)/(\d+) points", line):
            shown(int(done), int(of))
    return hear

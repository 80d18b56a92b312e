"""Studies: a scenario with axes, run in parallel, kept in a file and asked by the program's own statistics."""

import copy
import csv
import io
import json
import os
import re
import sys
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .errors import InputError
from .program import command
from .result import Path, Scenario, algorithm_section, flags, place, settings

Names = Union[str, Sequence[str]]  # "a,b" or ["a", "b"]
Values = Union[Sequence[Any], Mapping[str, Any]]
Progress = Union[bool, Callable[[int, int], None]]


def _axis(pointer: str, values: Values, name: Optional[str], options: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """As the language has it (docs/study_language.md). A method is a whole section "algorithm"."""
    def written(value: Any) -> Any:
        if pointer in ("/algorithm", "/algorithm/name"):
            return dict(value) if isinstance(value, Mapping) else algorithm_section(value, options if callable(value) else None)
        return value
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"The values of {pointer} are a list, or a dict of labels and values, and not {values!r:.60}")
    set_at = "/algorithm" if pointer == "/algorithm/name" else pointer
    if isinstance(values, Mapping):
        return {"name": name or set_at[1:], "values": [{"label": label, "set": {set_at: written(value)}} for label, value in values.items()]}
    return {"pointer": set_at, **({"name": name} if name else {}), "values": [written(value) for value in values]}


class Study:
    """A scenario and its axes. `over` and `seeds` return a study with more; this one stays as it is."""

    def __init__(self, base: Scenario, overrides: Optional[Mapping[str, Any]] = None):
        self.base, self.overrides = base, dict(overrides or {})
        self.axes: List[Dict[str, Any]] = []
        self._seeds: Any = None

    def over(self, pointer: str, values: Values, *, name: Optional[str] = None,
             options: Optional[Mapping[str, Any]] = None) -> "Study":
        """Another axis: every value, with all values of the other axes; a dict has labels for them. Along /algorithm/name every
        method has its defaults, in place of the base's; there may be names, sections ({"name": "wagma", "period": 5}), and
        methods in Python, to which `options` go."""
        study = copy.copy(self)
        study.axes = [*self.axes, _axis(pointer, values, name, options)]
        return study

    def seeds(self, seeds: Any) -> "Study":
        """How many, which, or a rule (docs/study_language.md)."""
        study = copy.copy(self)
        study._seeds = seeds
        return study

    def run(self, database: Optional[Path] = None, *, jobs: Optional[int] = None, timeout: Optional[float] = None,
            progress: Progress = True, allow_failed: bool = False) -> "StudyResults":
        """Runs the points that `database` does not have. Without one, results are kept for as long as the StudyResults. Points
        that fail are an exception (RunFailed), after all others have run, or with `allow_failed` rows that say so."""
        folder = None if database else tempfile.TemporaryDirectory(prefix="simsgd-")
        file = os.path.join(folder.name, "results.db") if folder else os.fspath(database or "")
        name, text = place(self.base)
        more = {**({"/axes": self.axes} if self.axes else {}), **({} if self._seeds is None else {"/seeds": self._seeds}), **self.overrides}
        command("sweep", "run", name, "-o", file, *flags({"jobs": jobs, "timeout": timeout}), *settings(more), input=text,
                said=_heard(progress), allowed=(0, 3) if allow_failed else (0,))
        return StudyResults(file, folder)


def sweep(study: Scenario, database: Optional[Path] = None, **options: Any) -> "StudyResults":
    """Runs a study's file, or a dict with axes: `Study(study).run(database, **options)`."""
    return Study(study).run(database, **options)


class Chart:
    """A chart of `simsgd report`, as its page shows it first: of an axis that readers choose a value of, the first. A notebook
    draws it with Vega-Lite, or shows its picture, or its table, whatever can be had (docs/report.md)."""

    def __init__(self, file: str, described: Mapping[str, Any]):
        self.spec, self.title, self.caption, self.name = (described[key] for key in ("spec", "title", "caption", "chart"))
        self._words = ["report", file, "--chart", self.name, "--study", described["id"]]

    def png(self) -> bytes:
        """Needs Node and rsvg-convert (docs/report.md)."""
        with tempfile.TemporaryDirectory() as folder:
            command(*self._words, "--figures", folder, "--png")
            picture = next(name for name in sorted(os.listdir(folder)) if name.endswith(".png"))
            with open(os.path.join(folder, picture), "rb") as opened:
                return opened.read()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        return dict(json.loads(command(*self._words, "--format", "notebook")))


class StudyResults:
    """Results in a file of the program (docs/store.md). `study` names one of a file with several."""

    def __init__(self, file: Path, _folder: Any = None):
        self.file, self._folder = os.fspath(file), _folder  # the folder is removed with this object

    def __repr__(self) -> str:
        return f"<simsgd.StudyResults {self.file}>"

    def table(self, question: str, *words: Any) -> str:
        """`simsgd results QUESTION`, as the program prints it: results.table("list"), ("winners", "--format", "latex")."""
        return command("results", question, self.file, *words)

    def export(self, path: Path, study: Optional[str] = None) -> None:
        """A row a run as .csv, or a document a line, of all studies, as .jsonl. Tables for papers: `table`."""
        formats = {".csv": "csv", ".jsonl": "json"}
        chosen = formats.get(os.path.splitext(path)[1])
        if not chosen:
            raise InputError(f"{path} ends in no format. Use {', '.join(formats)}")
        self.table("export", "-o", os.fspath(path), *flags({"format": chosen, "study": study}))

    def frame(self, study: Optional[str] = None) -> Any:
        """pandas: a row a run, with its axes and metrics, and `frame.simsgd` to ask the program."""
        frame = _pandas().read_csv(io.StringIO(self.table("export", *flags({"format": "csv", "study": study}))))
        frame.attrs["simsgd"] = FrameQuestions(self, study)
        return frame

    def rows(self, study: Optional[str] = None) -> List[Dict[str, str]]:
        """The same without pandas: a dict a run, values as texts."""
        return [*csv.DictReader(io.StringIO(self.table("export", *flags({"format": "csv", "study": study}))))]

    def charts(self, *names: str) -> List[Chart]:
        """The report's charts of these names, or all that can be made."""
        described = json.loads(command("report", self.file, "--format", "vega", *flags({"chart": names})))
        return [Chart(self.file, each) for each in described]

    def chart(self, name: str) -> Chart:
        for each in self.charts(name):
            return each
        raise InputError(f"This study has no chart {name}. It has {', '.join(each.name for each in self.charts())}")


class FrameQuestions:
    """frame.simsgd: the program's own statistics of the study that the frame came from. All of its runs count, whatever
    rows were taken out of the frame: `where` selects ("workers=64")."""

    def __init__(self, results: StudyResults, study: Optional[str]):
        self._results, self._study = results, study

    def __deepcopy__(self, memo: Any) -> "FrameQuestions":
        return self  # copies of a frame come from the same study

    def _ask(self, question: str, where: Names, **options: Any) -> Any:
        words = flags({"format": "csv", "study": self._study, "where": where, **options})
        return _pandas().read_csv(io.StringIO(self._results.table(question, *words)))

    def winners(self, metric: Optional[str] = None, where: Names = ()) -> Any:
        """The best choice for each value of the circumstances, by how much, and how sure that is."""
        return self._ask("winners", where, metric=metric)

    def table(self, metric: str, rows: Names = (), columns: Names = (), where: Names = ()) -> Any:
        """Means over seeds with their intervals, over the axes."""
        return self._ask("table", where, metric=metric, rows=rows or None, columns=columns or None)

    def compare(self, by: str, baseline: Any, metric: str, where: Names = ()) -> Any:
        """The values of an axis against one of them, seed by seed, with a verdict."""
        return self._ask("compare", where, by=by, baseline=baseline, metric=metric)


def _questions(frame: Any) -> FrameQuestions:
    if "simsgd" not in frame.attrs:
        raise AttributeError("this frame does not come from StudyResults.frame()")
    return frame.attrs["simsgd"]  # type: ignore[no-any-return]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("frames need pandas (Debian: python3-pandas); without it use rows() and table()") from None
    if not hasattr(pandas.DataFrame, "simsgd"):
        pandas.api.extensions.register_dataframe_accessor("simsgd")(_questions)
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
        found = re.search(r"\((\d+)/(\d+) points", line)
        if found:
            shown(int(found[1]), int(found[2]))
    return hear

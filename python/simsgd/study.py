"""Studies: a scenario with axes, run in parallel, kept in a file and asked by the program's own statistics."""

import base64
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
from .output import output
from .program import command
from .result import Path, Scenario, algorithm_section, place, settings


Values = Union[Sequence[Any], Mapping[str, Any]]


def _axis(pointer: str, values: Values, name: Optional[str], options: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    methods = pointer in ("/algorithm", "/algorithm/name")
    if not methods and not isinstance(values, Mapping):
        return {"pointer": pointer, **({"name": name} if name else {}), "values": [*values]}
    if methods:
        sections = [dict(each) if isinstance(each, Mapping) else algorithm_section(each, options if callable(each) else None)
                    for each in (values.values() if isinstance(values, Mapping) else values)]
        pointer, values = "/algorithm", dict(zip(values if isinstance(values, Mapping) else map(_label, sections), sections))
    assert isinstance(values, Mapping)
    return {"name": name or pointer[1:], "values": [{"label": label, "set": {pointer: value}} for label, value in values.items()]}


def _label(algorithm: Mapping[str, Any]) -> str:
    """A method by its name, and by what makes it another variant."""
    name = str(algorithm.get("function") or algorithm.get("name", "?"))
    return " ".join([name, *(f"{key}={value}" for key, value in algorithm.items() if key not in ("name", "function", "source", "options"))])


class Study:
    """A scenario and its axes. `over` and `seeds` return a study with more; this one stays as it is."""

    def __init__(self, base: Scenario, overrides: Optional[Mapping[str, Any]] = None):
        self.base, self.overrides = base, dict(overrides or {})
        self.axes: List[Dict[str, Any]] = []
        self._seeds: Any = None

    def over(self, pointer: str, values: Values, *, name: Optional[str] = None,
             options: Optional[Mapping[str, Any]] = None) -> "Study":
        """Another axis: every value, with all values of the other axes; a dict has labels for them. Along /algorithm/name every method has its defaults,
        in place of the base's; there may be names, sections ({"name": "wagma", "period": 5}), and methods in Python, to
        which `options` go."""
        study = copy.copy(self)
        study.axes = [*self.axes, _axis(pointer, values, name, options)]
        return study

    def seeds(self, seeds: Any) -> "Study":
        """How many, which, or a rule (docs/study_language.md)."""
        study = copy.copy(self)
        study._seeds = seeds
        return study

    def words(self) -> List[str]:
        more = {**({"/axes": self.axes} if self.axes else {}), **({"/seeds": self._seeds} if self._seeds is not None else {})}
        return [place(self.base)[0], *settings({**more, **self.overrides})]

    def run(self, database: Optional[Path] = None, *, jobs: Optional[int] = None, timeout: Optional[float] = None,
            progress: Union[bool, Callable[[int, int], None]] = True, allow_failed: bool = False) -> "StudyResults":
        """Runs the points that `database` does not have. Without one, results are kept for as long as the StudyResults.
        Points that fail are an exception (RunFailed), after all others have run, or with `allow_failed` rows that say
        so."""
        folder = None if database else tempfile.TemporaryDirectory(prefix="simsgd-")
        file = os.fspath(database) if database else os.path.join(folder.name if folder else "", "results.db")
        words = ["sweep", "run", *self.words(), "-o", file]
        for flag, value in (("--jobs", jobs), ("--timeout", timeout)):
            words += [flag, str(value)] if value else []
        command(*words, input=place(self.base)[1], said=_bar(progress), allowed=(0, 3) if allow_failed else (0,))
        return StudyResults(file, folder)


def sweep(study: Scenario, database: Optional[Path] = None, **options: Any) -> "StudyResults":
    """Runs a study's file, or a dict with axes: `Study(study).run(database, **options)`."""
    return Study(study).run(database, **options)


class Chart:
    """A chart of `simsgd report`, as its page shows it first: of an axis that readers choose a value of, the first. A notebook draws it with Vega-Lite, or shows its picture, where the program can draw one."""

    def __init__(self, file: str, described: Mapping[str, Any]):
        self.spec, self.title, self.caption = described["spec"], described["title"], described["caption"]
        self._file, self._name = file, described["chart"]

    def png(self) -> bytes:
        """Needs Node and rsvg-convert (docs/report.md)."""
        with tempfile.TemporaryDirectory() as folder:
            command("report", self._file, "--figures", folder, "--png", "--chart", self._name)
            picture = next(name for name in sorted(os.listdir(folder)) if name.endswith(".png"))
            with open(os.path.join(folder, picture), "rb") as opened:
                return opened.read()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        bundle = {f"application/vnd.vegalite.v{version}+json": self.spec for version in (5, 6)}
        try:
            bundle["image/png"] = base64.b64encode(self.png()).decode()
        except InputError:
            pass  # there is nothing to draw with
        return {"text/plain": f"{self.title}: {self.caption}", **bundle}


class StudyResults:
    """Results in a file of the program (docs/store.md)."""

    def __init__(self, file: Path, _folder: Any = None):
        self.file, self._folder = os.fspath(file), _folder  # the folder is removed with this object

    def table(self, question: str, *words: Any) -> str:
        """`simsgd results QUESTION`, as the program prints it: results.table("list"), ("winners", "--format", "latex")."""
        return command("results", question, self.file, *words)

    def export(self, path: Path, study: Optional[str] = None) -> None:
        """A row a run as .csv, or a document a line, of all studies, as .jsonl. Tables for papers: `table`."""
        formats = {".csv": "csv", ".jsonl": "json"}
        chosen = formats.get(os.path.splitext(path)[1])
        if not chosen:
            raise InputError(f"{path} ends in no format. Use {', '.join(formats)}")
        text = self.table("export", "--format", chosen, *(["--study", study] if study else []))
        with output(path) as file:
            file.write(text)

    def frame(self, study: Optional[str] = None) -> Any:
        """pandas: a row a run, with its axes and metrics. `study`: of a file with several."""
        which = ["--study", study] if study else []
        frame = _pandas().read_csv(io.StringIO(self.table("export", "--format", "csv", *which)))
        frame.attrs["simsgd"] = {"results": self, "which": which}
        return frame

    def rows(self, study: Optional[str] = None) -> List[Dict[str, str]]:
        """The same without pandas: a dict a run, values as texts."""
        which = ["--study", study] if study else []
        return [*csv.DictReader(io.StringIO(self.table("export", "--format", "csv", *which)))]

    def charts(self, *names: str) -> List[Chart]:
        """The report's charts of these names, or all that can be made."""
        words = [word for name in names for word in ("--chart", name)]
        return [Chart(self.file, each) for each in json.loads(command("report", self.file, "--format", "vega", *words))]

    def chart(self, name: str) -> Chart:
        for each in self.charts(name):
            return each
        raise InputError(f"This study has no chart {name}. It has {', '.join(each._name for each in self.charts())}")


class FrameQuestions:
    """frame.simsgd: the program's own statistics of the study that the frame came from. All of its runs count, whatever
    rows were taken out of the frame: `where` selects ("workers=64")."""

    def __init__(self, frame: Any):
        if "simsgd" not in frame.attrs:
            raise AttributeError("this frame does not come from StudyResults.frame()")
        self._asked = frame.attrs["simsgd"]

    def _ask(self, verb: str, where: Sequence[str], **options: Any) -> Any:
        words = [word for each in where for word in ("--where", each)]
        words += [word for name, value in options.items() if value for word in ("--" + name, str(value))]
        return _pandas().read_csv(io.StringIO(self._asked["results"].table(verb, "--format", "csv", *self._asked["which"], *words)))

    def winners(self, metric: Optional[str] = None, where: Sequence[str] = ()) -> Any:
        """The best choice for each value of the circumstances, by how much, and how sure that is."""
        return self._ask("winners", where, metric=metric)

    def table(self, metric: str, rows: Sequence[str] = (), columns: Sequence[str] = (), where: Sequence[str] = ()) -> Any:
        """Means over seeds with their intervals, over the axes."""
        return self._ask("table", where, metric=metric, rows=",".join(rows), columns=",".join(columns))

    def compare(self, by: str, baseline: Any, metric: str, where: Sequence[str] = ()) -> Any:
        """The values of an axis against one of them, seed by seed, with a verdict."""
        return self._ask("compare", where, by=by, baseline=str(baseline), metric=metric)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("frames need pandas (Debian: python3-pandas); without it use rows() and table()") from None
    if not hasattr(pandas.DataFrame, "simsgd"):
        pandas.api.extensions.register_dataframe_accessor("simsgd")(FrameQuestions)
    return pandas


def _bar(progress: Union[bool, Callable[[int, int], None]]) -> Callable[[str], None]:
    """Progress, of what the program says: in a notebook a bar, on a terminal a line, else nothing."""
    shown: Callable[[int, int], Any] = lambda done, of: None
    if callable(progress):
        shown = progress
    elif progress and "ipykernel" in sys.modules:
        from IPython.display import HTML, display
        bar = display(HTML(""), display_id=True)
        shown = lambda done, of: bar.update(HTML(f"<progress max={of} value={done}></progress> {done} of {of} runs"))
    elif progress and sys.stderr.isatty():
        shown = lambda done, of: print(f"\r{done} of {of} runs", end="\n" if done == of else "", file=sys.stderr)

    def hear(line: str) -> None:
        found = re.search(r"\((\d+)/(\d+) points", line)
        if found:
            shown(int(found[1]), int(found[2]))
    return hear

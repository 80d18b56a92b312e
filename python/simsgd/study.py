"""Studies: a scenario with axes, run in parallel, kept in a file and asked by the program's own statistics."""

import copy
import io
import json
import os
import re
import sys
import tempfile
from typing import Any, Callable, List, Mapping, Optional, Sequence, Union

from .program import command
from .result import Scenario, algorithm_section, place, settings


def _axis(pointer: str, values: Sequence[Any], name: Optional[str], options: Optional[Mapping[str, Any]]) -> dict:
    if pointer not in ("/algorithm", "/algorithm/name"):
        return {"pointer": pointer, **({"name": name} if name else {}), "values": [*values]}
    sections = [dict(each) if isinstance(each, Mapping) else algorithm_section(each, options if callable(each) else None)
                for each in values]
    return {"name": name or "algorithm", "values": [{"label": _label(each), "set": {"/algorithm": each}} for each in sections]}


def _label(algorithm: Mapping[str, Any]) -> str:
    """A method by its name, and by what makes it another variant."""
    name = algorithm.get("function") or algorithm.get("name", "?")
    return " ".join([name, *(f"{key}={value}" for key, value in algorithm.items() if key not in ("name", "function", "source", "options"))])


class Study:
    """A scenario and its axes. `over` and `seeds` return a study with more; this one stays as it is."""

    def __init__(self, base: Scenario, overrides: Optional[Mapping[str, Any]] = None):
        self.base = base
        self.overrides = dict(overrides or {})
        self.axes: List[dict] = []
        self._seeds: Any = None

    def _more(self, **changes: Any) -> "Study":
        study = copy.copy(self)
        study.__dict__.update(changes)
        return study

    def over(self, pointer: str, values: Sequence[Any], *, name: Optional[str] = None,
             options: Optional[Mapping[str, Any]] = None) -> "Study":
        """Another axis: every value, with all values of the other axes. Along /algorithm/name every method has its defaults,
        in place of the base's; there may be names, sections ({"name": "wagma", "period": 5}), and methods in Python, to
        which `options` go."""
        return self._more(axes=[*self.axes, _axis(pointer, values, name, options)])

    def seeds(self, seeds: Any) -> "Study":
        """How many, which, or a rule (docs/study_language.md)."""
        return self._more(_seeds=seeds)

    def words(self) -> List[str]:
        more = {**({"/axes": self.axes} if self.axes else {}), **({"/seeds": self._seeds} if self._seeds is not None else {})}
        return [place(self.base)[0], *settings({**more, **self.overrides})]

    def run(self, database: Union[str, "os.PathLike[str]", None] = None, *, jobs: Optional[int] = None,
            timeout: Optional[float] = None, progress: Union[bool, Callable[[int, int], None]] = True,
            allow_failed: bool = False) -> "StudyResults":
        """Runs the points that `database` does not have. Without one, results are kept for as long as the StudyResults.
        Points that fail are an exception (RunFailed), after all others have run, or with `allow_failed` rows that say
        so."""
        folder = None if database else tempfile.TemporaryDirectory(prefix="simsgd-")
        file = os.fspath(database) if database else os.path.join(folder.name, "results.db")
        words = ["sweep", "run", *self.words(), "-o", file]
        if jobs:
            words += ["--jobs", str(jobs)]
        if timeout:
            words += ["--timeout", str(timeout)]
        bar = _Bar(progress)
        command(*words, input=place(self.base)[1], said=bar.hear, allowed=(0, 3) if allow_failed else (0,))
        return StudyResults(file, folder)


def sweep(study: Scenario, database: Optional[str] = None, **options: Any) -> "StudyResults":
    """Runs a study's file, or a dict with axes: `Study(study).run(database, **options)`."""
    return Study(study).run(database, **options)


class StudyResults:
    """Results in a file of the program (docs/store.md)."""

    def __init__(self, file: Union[str, "os.PathLike[str]"], _folder: Any = None):
        self.file = os.fspath(file)
        self._folder = _folder  # removed with this object

    def table(self, *question: str) -> str:
        """`simsgd results QUESTION`, as the program prints it: results.table("list"), ("winners", "--format", "md")."""
        return command("results", question[0], self.file, *question[1:])

    def frame(self, study: Optional[str] = None):
        """pandas: a row a run, with its axes and metrics. `study`: of a file with several."""
        pandas = _pandas()
        which = ["--study", study] if study else []
        frame = pandas.read_csv(io.StringIO(self.table("export", "--format", "csv", *which)))
        frame.attrs["simsgd"] = {"results": self, "study": study}
        return frame

    def rows(self, study: Optional[str] = None) -> List[dict]:
        """The same without pandas: a dict a run, values as texts."""
        import csv
        which = ["--study", study] if study else []
        return [*csv.DictReader(io.StringIO(self.table("export", "--format", "csv", *which)))]


class FrameQuestions:
    """frame.simsgd: the program's own statistics of the study that the frame came from. All of its runs count, whatever
    rows were taken out of the frame: `where` selects ("workers=64")."""

    def __init__(self, frame: Any):
        if "simsgd" not in frame.attrs:
            raise AttributeError("this frame does not come from StudyResults.frame()")
        self._asked = frame.attrs["simsgd"]

    def _ask(self, verb: str, where: Sequence[str], *words: str):
        study = ["--study", self._asked["study"]] if self._asked["study"] else []
        chosen = [word for each in where for word in ("--where", each)]
        text = self._asked["results"].table(verb, "--format", "csv", *words, *study, *chosen)
        return _pandas().read_csv(io.StringIO(text))

    def winners(self, metric: Optional[str] = None, where: Sequence[str] = ()):
        """The best choice for each value of the circumstances, by how much, and how sure that is."""
        return self._ask("winners", where, *(["--metric", metric] if metric else []))

    def table(self, metric: str, rows: Sequence[str] = (), columns: Sequence[str] = (), where: Sequence[str] = ()):
        """Means over seeds with their intervals, over the axes."""
        words = ["--metric", metric]
        words += ["--rows", ",".join(rows)] if rows else []
        words += ["--columns", ",".join(columns)] if columns else []
        return self._ask("table", where, *words)

    def compare(self, by: str, baseline: Any, metric: str, where: Sequence[str] = ()):
        """The values of an axis against one of them, seed by seed, with a verdict."""
        return self._ask("compare", where, "--by", by, "--baseline", str(baseline), "--metric", metric)


def _pandas():
    try:
        import pandas
    except ImportError:
        raise ImportError("frames need pandas (Debian: python3-pandas); without it use rows() and table()") from None
    if not hasattr(pandas.DataFrame, "simsgd"):
        pandas.api.extensions.register_dataframe_accessor("simsgd")(FrameQuestions)
    return pandas


class _Bar:
    """Progress: in a notebook a bar, on a terminal a line, else nothing."""

    def __init__(self, progress: Union[bool, Callable[[int, int], None]]):
        self._shown = progress if callable(progress) else None
        if progress is True and "ipykernel" in sys.modules:
            from IPython.display import HTML, display
            handle = display(HTML(""), display_id=True)
            self._shown = lambda done, of: handle.update(HTML(f"<progress max={of} value={done}></progress> {done} of {of} runs"))
        elif progress is True and sys.stderr.isatty():
            self._shown = lambda done, of: print(f"\r{done} of {of} runs", end="\n" if done == of else "", file=sys.stderr)

    def hear(self, line: str) -> None:
        found = re.search(r"\((\d+)/(\d+) points", line)
        if found and self._shown:
            self._shown(int(found[1]), int(found[2]))

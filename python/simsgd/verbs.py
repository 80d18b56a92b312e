"""The other verbs of the program, with their answers as Python has them."""

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from .program import command
from .result import Path, Scenario, place, settings, to_json
from .study import StudyResults

if TYPE_CHECKING:
    from .recording import Recording


def results(file: Path) -> StudyResults:
    """The results that a file has."""
    return StudyResults(file)


def list(kind: str, name: Optional[str] = None) -> Any:
    """Algorithms, clusters, devices, metrics, ...: all of a kind, one of them, or what a key of scenarios means."""
    return json.loads(command("list", kind, *([name] if name else []), "--json"))


def report(file: Path, output: Path, **options: Any) -> str:
    """The page of a study's results (`simsgd report`); returns its path."""
    command("report", os.fspath(file), "-o", os.fspath(output), *_flags(options))
    return os.fspath(output)


def advise(scenario: Scenario, overrides: Optional[Mapping[str, Any]] = None, **options: Any) -> Dict[str, Any]:
    """The best method and settings for a budget: advise(S, target="throughput", budget=20)."""
    name, text = place(scenario)
    return _object(command("advise", name, "--json", *settings(overrides or {}), *_flags(options), input=text))


def bench(operation: str, **options: Any) -> Any:
    """One collective over sizes: bench("all_reduce", workers=16, b=8, e="1G", f=2)."""
    return json.loads(command("bench", operation, "--json", *_flags(options)))


def explain(**options: Any) -> Dict[str, Any]:
    """Why N GPUs are not N times one: explain(parameters=110e6, step="0.13s", gpus=16, network="10gbe")."""
    return _object(command("explain", "--json", *_flags(options)))


def calibrate(specification: Scenario, *logs: Path, output: Optional[Path] = None, **options: Any) -> Dict[str, Any]:
    """Fits a cluster to measurements: of a specification, a file or a dict whose files are looked for from here on (or in
    `data`), or of logs of nccl-tests and the like. With `output` the cluster's file is written. Returns the report."""
    words = ["--json", *(["-o", os.fspath(output)] if output else []), *_flags(options)]
    if not isinstance(specification, Mapping):
        return _object(command("calibrate", specification, *logs, *words))
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "specification.json")
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(to_json(dict(specification)))
        return _object(command("calibrate", file, *([] if "data" in options else ["--data", os.getcwd()]), *words))


def _object(text: str) -> Dict[str, Any]:
    return dict(json.loads(text))


def _flags(options: Mapping[str, Any]) -> List[str]:
    """budget=20 is --budget 20, check=True is --check, b=8 is -b 8."""
    words: List[str] = []
    for name, value in options.items():
        flag = ("-" if len(name) == 1 else "--") + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def record(model: Any, batch: Optional[int] = None, device_name: Optional[str] = None, name: Optional[str] = None,
           comm_hook: Any = None, comm_state: Any = None) -> "Recording":
    """Records the steps of a PyTorch script inside `with`: layers with their parameters, shapes, and times of both passes; of a
    model in DistributedDataParallel also when each bucket is ready. `batch`: samples a step (default: the first dimension of the
    model's input). `comm_hook`, `comm_state`: DDP's, where the script has one of its own, which DDP takes but once."""
    from .recording import Recording  # needs PyTorch
    return Recording(model, batch, device_name, name, comm_hook, comm_state)

"""The other verbs of the program, with their answers as Python has them."""

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from .program import command
from .result import Path, Scenario, flags, place, settings, to_json
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
    command("report", os.fspath(file), "-o", os.fspath(output), *flags(options))
    return os.fspath(output)


def advise(scenario: Scenario, overrides: Optional[Mapping[str, Any]] = None, **options: Any) -> Dict[str, Any]:
    """The best method and settings for a budget: advise(S, target="throughput", budget=20)."""
    name, text = place(scenario)
    return dict(json.loads(command("advise", name, "--json", *settings(overrides), *flags(options), input=text)))


def bench(operation: str, **options: Any) -> Any:
    """One collective over sizes: bench("all_reduce", workers=16, b=8, e="1G", f=2)."""
    return json.loads(command("bench", operation, "--json", *flags(options)))


def explain(**options: Any) -> Dict[str, Any]:
    """Why N GPUs are not N times one: explain(parameters=110e6, step="0.13s", gpus=16, network="10gbe")."""
    return dict(json.loads(command("explain", "--json", *flags(options))))


def calibrate(specification: Scenario, *logs: Path, output: Optional[Path] = None, **options: Any) -> Dict[str, Any]:
    """Fits a cluster to measurements: of a specification, a file or a dict whose files are looked for from here on (or in
    `data`), or of logs of nccl-tests and the like. With `output` the cluster's file is written. Returns the report."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(specification, Mapping):
            options = {"data": os.getcwd(), **options}
            file = os.path.join(folder, "specification.json")
            with open(file, "w", encoding="utf-8") as opened:
                opened.write(to_json(dict(specification)))
        else:
            file = os.fspath(specification)
        return dict(json.loads(command("calibrate", file, *logs, "--json", *flags({"output": output, **options}))))


def record(model: Any, batch: Optional[int] = None, device_name: Optional[str] = None, name: Optional[str] = None,
           comm_hook: Any = None, comm_state: Any = None) -> "Recording":
    """Records the steps of a PyTorch script inside `with`: layers with their parameters, shapes, and times of both passes; of a
    model in DistributedDataParallel also when each bucket is ready. `batch`: samples a step (default: the first dimension of the
    model's input). `comm_hook`, `comm_state`: DDP's, where the script has one of its own, which DDP takes but once."""
    from .recording import Recording  # needs PyTorch
    return Recording(model, batch, device_name, name, comm_hook, comm_state)

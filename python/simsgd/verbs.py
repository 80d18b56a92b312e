"""The other verbs of the program, with their answers as Python has them."""

import json
import os
from typing import Any, Dict, Mapping, Optional

from .program import command
from .result import Path, Scenario, flags, place, settings
from .study import StudyResults


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
    name, text = place(specification)
    return dict(json.loads(command("calibrate", name, *logs, "--json", *flags({"output": output, **options}), input=text)))

"""Scenarios that the tests share, and real runs of them."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import simsgd

SOURCES = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

SMALL = {
    "name": "small",
    "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4},
    "workload": {"use": "workloads/resnet20.json", "batch": 128},
    "learner": {"model": {"name": "softmax_regression"}, "data": {"name": "gaussian_mixture"}, "batch": 16},
    "optimizer": {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9},
    "algorithm": {"name": "local_sgd", "period": 3},
    "stragglers": [{"name": "lognormal", "mean": "20 ms", "sigma": 0.5}],
    "stop": {"steps": 12},
    "record": {"evaluate_every": 4},
}
TIMED = {**SMALL, "learner": None, "record": {}}

# As tests/measure starts ranks: as root or not, on fewer cores, without looking for devices.
MPI = {"HWLOC_COMPONENTS": "-pci", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMPI_MCA_pml": "ob1", "OMPI_MCA_osc": "sm", "OMPI_MCA_io": "ompio", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def losses(source, *words, scenario=SMALL):
    """Of a real run of 4 ranks, and of the simulation."""
    measure = os.path.join(os.path.dirname(os.environ["SIMSGD"]), "simsgd-measure")
    if not shutil.which("mpirun") or not os.path.exists(measure):
        raise unittest.SkipTest("no mpirun, or no simsgd-measure beside the program")
    with tempfile.TemporaryDirectory() as folder:
        path, method = os.path.join(folder, "s.json"), os.path.join(folder, "method.py")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**scenario, "stragglers": [], "compute": "emulated"}, file)
        with open(method, "w", encoding="utf-8") as file:
            file.write(source)
        command = ["run", path, "--json", "--python", method, *words]
        done = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4", measure, *command], env={**os.environ, **MPI},
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        documents = json.loads(done.stdout), json.loads(simsgd.command(*command))
    return [[row["train_loss"] for row in document["series"]["train"]] for document in documents]

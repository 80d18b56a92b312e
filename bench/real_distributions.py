#!/usr/bin/env python3
"""Every algorithm for real on measure/testbed beside its simulation: staleness, waits and the parts of a step.

    bench/real_distributions.py [--rate 100mbit] [--compute-ms 80] [--steps 120] [--only eager_sgd,wagma] [--keep DIR]

Rings of 2 workers are measured first and fitted (simsgd calibrate): a NIC with its token bucket, nothing else. Computing is a sleep,
log-normal (CV 0.1); one of 4 workers, drawn for each step, is as much later. Messages carry zeros, as many bytes and
in the order of the scenario's schedules. Prints a table for docs/measure.md. Root only; SCHED_RR for at most a minute at a
time, so that other programs of the machine do not stand in the way.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

WORKERS = 4
CALM = ["chrt", "--rr", "1"] if os.geteuid() == 0 else []
# What an algorithm must be given, or what makes time decide; the deadline in times of computing.
OPTIONS = {
    "nonblocking": {"trigger": "first", "micro_batches": 4},
    "dropcompute": {"deadline": 1.2, "micro_batches": 4},
    "gtopk": {"density": 0.01},
    "topk_sgd": {"density": 0.01},
    "wagma": {"group_size": 2},
    "diloco": {"inner_steps": 10},
    "local_sgd": {"period": 4},
}
ALONE = {"kfac"}  # of one worker: it sends nothing


def scenario(name, network, arguments):
    """The scenario of one algorithm; for 20 ms of computing a model is sent in 8 ms, 234,752 parameters at 1 Gb/s."""
    compute_ms = arguments.compute_ms
    rate_bps = float(arguments.rate.replace("gbit", "e9").replace("mbit", "e6"))
    side = round((234752 / 4 * rate_bps / 1e9 * compute_ms / 20) ** 0.5)
    layer = {"type": "fc", "tensors": [[side, side]], "activations": side, "forward": f"{compute_ms / 12} ms",
             "backward": f"{compute_ms / 6} ms"}
    options = dict(OPTIONS.get(name, {}))
    if "deadline" in options:
        options["deadline"] = f"{options['deadline'] * compute_ms} ms"
    return {
        "name": f"{name} on the testbed",
        "cluster": {
            "name": "testbed",
            "workers": WORKERS,
            "device": {"use": "devices/cpu_core.json"},
            "nic": network,
            "topology": {"name": "star"},
            "host": {"launch": 0, "staged": False, "reduce": 0, "tensor": 0, "pack": 0},
        },
        "workload": {
            "name": f"{compute_ms} ms",
            "batch": 32,
            "layers": [{"name": f"layer{i}", **layer} for i in range(4)],
            "compute_factor": {"name": "lognormal", "mean": 1, "cv": 0.1},
        },
        "learner": None,
        "algorithm": {"name": name, **options},
        "stragglers": [{"name": "k_of_p", "k": 1, "delay": f"{compute_ms} ms"}],
        "stop": {"steps": arguments.steps},
        "seed": 1,
    }


class Testbed:
    def __init__(self, root, ranks, rate):
        self.program, self.name, self.ranks = os.path.join(root, "measure", "testbed"), f"distributions-{os.getpid()}", ranks
        self.rate = rate

    def __enter__(self):
        subprocess.run([self.program, "up", str(self.ranks), "--rate", self.rate, "--name", self.name, "--for", "20m"],
                       check=True, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        subprocess.run([self.program, "down", "--name", self.name], check=False)

    def run(self, command):
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return subprocess.run([*CALM, self.program, "run", "-n", str(self.ranks), "--name", self.name, *command], env=env,
                              capture_output=True, text=True, timeout=60, check=False)


class SharedMemory:
    """The same without a network: ranks of one host."""

    def __init__(self, ranks):
        self.ranks = ranks

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, command):
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return subprocess.run([*CALM, "mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(self.ranks), "--mca", "btl",
                               "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none", *command], env=env,
                              capture_output=True, text=True, timeout=60, check=False)


def said(result, what):
    if result.returncode != 0:
        sys.exit(f"{what} failed:\n{result.stderr[-2000:]}")
    return result.stdout


def fitted(build, folder, name, files, model):
    """The NIC that `simsgd calibrate` finds with the parameters of `model`."""
    spec = {
        "name": name,
        "scenario": {"use": "calibration/parts/ethernet_1g_node.json"},
        "data": [{"files": files, "where": {"operation": "all_reduce", "schedule": "ring", "workers": 2}}],
        "predict": [{"as": "collective"}],
        "models": [model],
        "fit": {"leave_out": "octave", "outlier": 0.5},
    }
    with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
        json.dump(spec, file, indent=1)
    said(subprocess.run([f"{build}/simsgd", "calibrate", f"{folder}/{name}.json", "--data", folder, "-o",
                         f"{folder}/{name}_cluster.json"], capture_output=True, text=True, check=False), "simsgd calibrate")
    with open(f"{folder}/{name}_cluster.json", encoding="utf-8") as file:
        return json.load(file)["nic"]


def calibrated(bed, build, folder):
    """The NIC of rings of 2 workers, as a network of a scenario: latency and goodput of 64 B and of 512 KiB to 2 MiB, then of
    4 KiB to 128 KiB the token bucket that shapes the cables, which lets short messages pass at once.

    All ranks are there, so that the two wait for a core as the runs do."""
    for name, least, most in (("small", "64", "64"), ("middle", "4KiB", "128KiB"), ("large", "512KiB", "2MiB")):
        said(bed.run([f"{build}/simsgd-measure", "collectives", "--op", "all_reduce", "--schedule", "ring", "--min-bytes", least,
                      "--max-bytes", most, "--campaigns", "3", "--apart", "2", "--samples", "7", "--point-time", "0.4", "-o",
                      f"{folder}/{name}.csv"]), "measuring rings")
    nic = "/cluster/nic"
    line = fitted(build, folder, "line", ["small.csv", "large.csv"], {"name": "latency and goodput", "parameters": [
        {"name": "latency", "pointers": [f"{nic}/latency"], "low": "1 us", "high": "2 ms"},
        {"name": "goodput", "pointers": [f"{nic}/bandwidth"], "low": "1 MB/s", "high": "100 GB/s"}]})
    network = {"latency": line["latency"], "bandwidth": line["bandwidth"]}
    burst = {"bytes": 16000, "bandwidth": 10 * line["bandwidth"]}
    bucket = fitted(build, folder, "bucket", ["middle.csv"], {
        "name": "bucket", "set": {nic: {**network, "burst": burst}}, "parameters": [
            {"name": "bucket", "pointers": [f"{nic}/burst/bytes"], "low": 100, "high": 1e6},
            {"name": "burst", "pointers": [f"{nic}/burst/bandwidth"], "low": line["bandwidth"], "high": "100 GB/s"}]})
    return {**network, "burst": bucket["burst"]}


def compared(root, build, bed, what, folder):
    """Records of `simsgd results compare` by name."""
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/scenario.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file, indent=1)
    real, simulated = f"{folder}/real", f"{folder}/simulated"
    said(bed.run([f"{build}/simsgd-measure", "run", path, "--schedules", "scenario", "--steps", "-o", real]), "the real run")
    said(subprocess.run([f"{build}/simsgd", "run", path, "--steps", "-o", simulated], cwd=root, capture_output=True, text=True,
                        check=False), "the simulation")
    text = said(subprocess.run([f"{build}/simsgd", "results", "compare", real, simulated, "--format", "json"],
                               capture_output=True, text=True, check=False), "simsgd results compare")
    found = {}

    def collect(node):
        if isinstance(node, dict):
            if "name" in node and "simulated" in node and "real" in node:
                found[node["name"]] = node
            for child in node.values():
                collect(child)
        elif isinstance(node, list):
            for child in node:
                collect(child)

    collect(json.loads(text))
    return found


def row(name, found):
    step_s = found["iteration_time_mean_s"]["real"]

    def error(key):
        part = found.get(key)
        if part is None:
            return "0"
        return f"{100 * ((part['simulated'] or 0) - (part['real'] or 0)) / step_s:+.1f}"

    def distance(key):
        return f"{found[key]['error']:.3f}" if key in found else ""

    step = found["iteration_time_mean_s"]
    parts = [error(key) for key in ("compute_s", "straggle_s", "wait_s", "communication_exposed_s", "host_s")]
    cells = [name, f"{1e3 * step_s:.2f}", f"{100 * (step['simulated'] / step_s - 1):+.1f}", *parts, distance("ks_staleness"),
             distance("ks_waits in 1 % of a step"), distance("ks_waits")]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--build", default=os.path.join(root, "build", "release"))
    parser.add_argument("--rate", choices=["1gbit", "500mbit", "200mbit", "100mbit"], default="100mbit")
    parser.add_argument("--memory", action="store_true", help="over shared memory instead; the rate is only the model's size")
    parser.add_argument("--compute-ms", type=float, default=80, help="mean time of computing in a step")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--only", help="algorithms, with commas")
    parser.add_argument("--network", help='latency and bandwidth instead of measuring them: \'{"latency": "66 us", ...}\'')
    parser.add_argument("--keep", help="a directory for what was measured and simulated")
    arguments = parser.parse_args()
    if os.geteuid() != 0 and not arguments.memory:
        sys.exit("Network namespaces need root.")
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(arguments.keep or temporary)
        os.makedirs(folder, exist_ok=True)
        build = os.path.abspath(arguments.build)
        names = said(subprocess.run([f"{build}/simsgd", "list", "algorithms"], capture_output=True, text=True, check=False),
                     "simsgd list")
        chosen = arguments.only.split(",") if arguments.only else sorted(
            line.split()[0] for line in names.splitlines() if line.strip() and line.split()[0] not in ALONE)
        def network_of_ranks():
            return SharedMemory(WORKERS) if arguments.memory else Testbed(root, WORKERS, arguments.rate)

        with network_of_ranks() as bed:
            network = json.loads(arguments.network) if arguments.network else calibrated(bed, build, folder)
        print(f"{'shared memory' if arguments.memory else arguments.rate}, {arguments.compute_ms:g} ms of computing, {WORKERS} workers, {arguments.steps} steps, simulated with {json.dumps(network)}\n")
        print("| algorithm | step, ms | simulated, % | compute | straggle | wait | communication | host | KS of staleness "
              "| KS of waits | to rounding |\n|---|---|---|---|---|---|---|---|---|---|---|")
        with network_of_ranks() as bed:
            for name in chosen:
                what = scenario(name, network, arguments)
                print(row(name, compared(root, build, bed, what, f"{folder}/{name}")), flush=True)


if __name__ == "__main__":
    main()

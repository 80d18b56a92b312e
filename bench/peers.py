#!/usr/bin/env python3
"""Writes bench/peers.md: every benchmark beside its limit, and what the simulator costs over programs that do the
same and nothing else.

    bench/peers.py [build/release [FILTER]]

All of it in one run, as CPU time: ratios to another run, or another machine, say nothing. Programs that are
not installed are named as missing and not compared with. FILTER: a regular expression of benchmarks, for a try.
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RANKS, BYTES = 256, 1 << 20
MISSING = {"ASTRA-sim": "AstraSim_Analytical_Congestion_Unaware", "LogGOPSim": "LogGOPSim"}


def children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds(text):
    number, unit = text.split()
    return float(number) * (1e-3 if unit == "ms" else 1)


def benchmarks(program, which):
    """The rows of the table that the program ends with, by what they are of."""
    text = subprocess.run([program, f"--benchmark_filter={which}"], check=True, capture_output=True, text=True).stdout
    rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text[text.index("| what |") :].splitlines()[2:])
    return {row[0]: row[1:] for row in rows if row}


def smpi_s():
    """CPU seconds of the same ring with SMPI, its start taken off; None where it is not installed."""
    if not (shutil.which("smpicc") and shutil.which("smpirun")):
        return None
    with tempfile.TemporaryDirectory() as folder:
        program, platform, hosts = (os.path.join(folder, name) for name in ("ring", "platform.xml", "hosts"))
        subprocess.run(["smpicc", "-O2", str(HERE / "smpi_ring.c"), "-o", program], check=True)
        pathlib.Path(platform).write_text(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            f'<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-{RANKS - 1}" '
            'speed="1Gf" bw="25GBps" lat="2.5us"/></platform>\n'
        )
        pathlib.Path(hosts).write_text("".join(f"n{i}\n" for i in range(RANKS)))

        def run(size):
            before = children_s()
            subprocess.run(
                ["smpirun", "-np", str(RANKS), "-platform", platform, "-hostfile", hosts, program, str(size)],
                check=True, capture_output=True,
            )
            return children_s() - before

        return run(BYTES)


def run_s(simsgd, scenario):
    """CPU seconds of `simsgd run`, the least of three; None where the scenario is refused."""
    seconds = []
    for _ in range(3):
        before = children_s()
        command = [simsgd, "run", "-", "--draws", "0"]
        done = subprocess.run(command, input=json.dumps(scenario), cwd=HERE.parent, capture_output=True, text=True)
        if done.returncode == 2:
            return None
        done.check_returncode()
        seconds.append(children_s() - before)
    return min(seconds)


def python_study_s(simsgd):
    """CPU seconds of a study of 1,000 short points from Python, and by the program."""
    study = {
        "name": "python", "cluster": {"use": "clusters/ethernet-1g.json", "workers": 64}, "workload": {"use": "workloads/resnet50.json"},
        "learner": None, "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 20}, "seeds": 1000,
    }
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "study.json"
        file.write_text(json.dumps(study))
        python = "import json, simsgd; simsgd.sweep(json.load(open('study.json')), jobs=1)"
        environment = {**os.environ, "SIMSGD": str(simsgd.resolve()), "PYTHONPATH": str(HERE.parent / "python")}
        seconds = []
        for command in ([sys.executable, "-c", python], [str(simsgd.resolve()), "sweep", "run", "study.json", "--jobs", "1", "-o", "study.db"]):
            before = children_s()
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
            seconds.append(children_s() - before)
        return seconds


def over_local_sgd(simsgd, methods, scenario):
    """Lines of a table: each method's CPU, and how many times local_sgd's. `methods`: what each sets, by its name."""
    all_of_them = {name: run_s(simsgd, scenario | what) for name, what in methods.items()}
    own = {name: cpu for name, cpu in all_of_them.items() if cpu is not None}
    base = next(cpu for name, cpu in own.items() if name.startswith("local_sgd"))
    lines = [f"| {name} | {cpu:.3f} s | {cpu / base:.1f}x |" for name, cpu in sorted(own.items(), key=lambda one: one[1])]
    return ["| method | CPU, with the start of the program | over local_sgd |", "|---|---|---|", *lines,
            *(f"| {name} | needs another scenario | |" for name in all_of_them if name not in own)]


def methods(simsgd):
    """64 workers, timing only."""
    listed = json.loads(subprocess.run([simsgd, "list", "algorithms", "--json"], check=True, capture_output=True).stdout)
    adam = {"onebit_adam": {"optimizer": {"name": "adamw", "learning_rate": 0.001}}}  # it takes no other
    alone = {name: {"algorithm": {"name": name}} | adam.get(name, {}) for name in (each["name"] for each in listed)}
    with_delays = {"learner": None, "stragglers": [{"name": "lognormal", "mean": "20 ms", "sigma": 0.5}]}
    network = {
        "cluster": {"use": "clusters/infiniband-100g.json", "workers": 64, "gpus_per_node": 8},
        "workload": {"use": "workloads/resnet50.json", "batch": 64}, "stop": {"steps": 100},
    }
    study = (HERE.parent / "scenarios/studies/language_observatory.json").read_text()
    study = json.loads("\n".join(line for line in study.splitlines() if not line.startswith("//")))
    language = {key: study[key] for key in ("cluster", "workload", "stop", "algorithm", "optimizer") if key in study}
    language["cluster"]["workers"] = 64
    ten = {each["label"]: {key.strip("/"): what for key, what in each["set"].items()} for each in study["axes"][0]["values"]}
    return [
        "", "## Methods, 64 workers, timing only, log-normal delays",
        "", "100 steps of ResNet-50, 161 tensors, 8 GPUs a node:", "",
        *over_local_sgd(simsgd, alone, network | with_delays),
        "", "The ten methods of `scenarios/studies/language_observatory.json`, with its steps, 4 GPUs a worker:", "",
        *over_local_sgd(simsgd, ten, language | with_delays),
    ]


def page(build, which):
    rows = benchmarks(build / "bench/simsgd_bench", which)
    text = [
        "# What was measured, and what the simulator costs over others",
        "",
        "Written by `bench/peers.py`, all in one run: CPU seconds, the best of each benchmark's repetitions. A bare",
        "program (beside each benchmark) computes the same times, which are compared to 1e-9, or the same training, and",
        "nothing else: no scenario, no ledger, no document. A sweep stands beside simulating its jobs in a loop.",
        "Memory is that of the process.",
        f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.0f} at the end, so what others ran is in the times.",
        "",
        "| what | CPU | limit | over a program that does nothing else |",
        "|---|---|---|---|",
    ]
    ratios = {}  # by what is compared: with what, and the ratio
    for name, (wall, cpu, *_) in rows.items():
        what, _, other = name.rpartition(" / ")
        if what in rows:
            ratios[what] = f"{cpu or wall}, {other}"
    for name, (wall, cpu, limit, _) in rows.items():
        if name.rpartition(" / ")[0] not in rows:
            text.append(f"| {name} | {cpu or wall} | {limit} | {ratios.get(name, '')} |")
    python_s, program_s = python_study_s(build / "simsgd")
    ratio = f"{python_s / program_s:.2f}x, the program's sweep"
    text.append(f"| a study of 1,000 points, 64 workers x 20 steps, from Python | {python_s:.2f} s |  | {ratio} |")
    ring = f"ring of {RANKS} ranks, 1 MiB, every message"
    smpi = smpi_s()
    text += ["", "| other simulator | CPU | over simsgd |", "|---|---|---|"]
    if smpi is None:
        text.append("| SMPI: not installed here | | |")
    elif ring in rows:
        text.append(f"| SMPI, {ring}, with its start | {smpi:.2f} s | {smpi / seconds(rows[ring][1]):.0f}x |")
    for name, command in MISSING.items():
        text.append(f"| {name}: {'not driven by this script' if shutil.which(command) else 'not installed here'} | | |")
    return "\n".join(text + methods(build / "simsgd")) + "\n"


if __name__ == "__main__":
    release = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "build/release"
    (HERE / "peers.md").write_text(page(release, sys.argv[2] if len(sys.argv) > 2 else "."))

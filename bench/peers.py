#!/usr/bin/env python3
"""Writes bench/peers.md: every benchmark beside its limit, and what the simulator costs over programs that do the
same and nothing else.

    bench/peers.py [build/release/bench/simsgd_bench [FILTER]]

All of it in one run, as CPU time: ratios to another run, or another machine, say nothing. Programs that are
not installed are named as missing and not compared with. FILTER: a regular expression of benchmarks, for a try.
"""

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


def page(program, which):
    rows = benchmarks(program, which)
    text = [
        "# What was measured, and what the simulator costs over others",
        "",
        "Written by `bench/peers.py`, all in one run: CPU seconds, the best of each benchmark's repetitions. A bare",
        "program (beside each benchmark) computes the same times, which are compared to 1e-9, or the same training, and",
        "nothing else: no scenario, no ledger, no document. A sweep stands beside simulating its jobs in a loop.",
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
    ring = f"ring of {RANKS} ranks, 1 MiB, every message"
    smpi = smpi_s()
    text += ["", "| other simulator | CPU | over simsgd |", "|---|---|---|"]
    if smpi is None:
        text.append("| SMPI: not installed here | | |")
    elif ring in rows:
        text.append(f"| SMPI, {ring}, with its start | {smpi:.2f} s | {smpi / seconds(rows[ring][1]):.0f}x |")
    for name, command in MISSING.items():
        text.append(f"| {name}: {'not driven by this script' if shutil.which(command) else 'not installed here'} | | |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    binary = sys.argv[1] if len(sys.argv) > 1 else str(HERE.parent / "build/release/bench/simsgd_bench")
    (HERE / "peers.md").write_text(page(binary, sys.argv[2] if len(sys.argv) > 2 else "."))

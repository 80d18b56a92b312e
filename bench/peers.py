#!/usr/bin/env python3
"""Writes bench/peers.md: what the simulator costs over programs that do the same and nothing else.

    bench/peers.py [build/release/bench/simsgd_bench]

All of it in one run, as CPU time: that of another run, or of another machine, says nothing. Programs that are
not installed are named as missing and not compared with.
"""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RANKS, BYTES = 256, 1 << 20
# All that have a bare program, but those that take minutes: a million workers, and 16,384 with every message.
FILTER = (
    "timing_only/.*/(64|1024|16384|30000|65536)/|messages/ring/|messages/.*/64/|learning_64/|kfac/learning"
    "|gossip/d_psgd|gtopk/.*/star|sweep/"
)
MISSING = {"ASTRA-sim": "AstraSim_Analytical_Congestion_Unaware", "LogGOPSim": "LogGOPSim"}


def children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds(text):
    number, unit = text.split()
    return float(number) * (1e-3 if unit == "ms" else 1)


def benchmarks(program):
    """The rows of the table that the program ends with, by what they are of."""
    text = subprocess.run([program, f"--benchmark_filter={FILTER}"], check=True, capture_output=True, text=True).stdout
    rows = (line.strip("| \n").split(" | ") for line in text[text.index("| what |") :].splitlines()[2:])
    return {row[0]: row[1:] for row in rows if len(row) > 2}


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


def page(program):
    rows = benchmarks(program)
    text = [
        "# What the simulator costs over others",
        "",
        "Written by `bench/peers.py`, all in one run: CPU seconds, the best of each benchmark's repetitions. A bare",
        "program (beside each benchmark) computes the same times, which are compared to 1e-9, or the same training, and",
        "nothing else: no scenario, no ledger, no document. A sweep stands beside simulating its jobs in a loop.",
        f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.0f} at the end, so what others ran is in the times.",
        "",
        "| what | simsgd, CPU | over the bare program |",
        "|---|---|---|",
    ]
    for name, (_, cpu, *_rest) in rows.items():
        match = re.fullmatch(r"(.*) / (bare .*|SGD)", name)
        if match and match[1] in rows:
            text.append(f"| {match[1]}, over {match[2]} | {rows[match[1]][1]} | {cpu} |")
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
    (HERE / "peers.md").write_text(page(binary))

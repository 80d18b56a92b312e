#!/usr/bin/env bash
# torch_device.sh TORCH_DEVICE SIMSGD: what is measured here becomes a device that a run uses, and its numbers are those of the samples.
set -euo pipefail
python=/usr/bin/python3
"$python" -c 'import torch' 2>/dev/null || { echo "SKIPPED: no python3-torch" && exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
simsgd=$(realpath "$2")
cd "$folder"
"$python" "$1" -o d.json --samples d.csv --device cpu --threads 1 --largest 128 --repeats 3 --peak 1e11 --bandwidth 1e11 2>said || { cat said && exit 1; }
"$python" - <<'CHECK'
import csv, json, statistics
device, samples = json.load(open("d.json")), list(csv.DictReader(open("d.csv")))
def median(**of):
    found = [float(row["time_s"]) for row in samples if all(row[key] == str(value) for key, value in of.items())]
    assert len(found) == 3, of
    return statistics.median(found)
def near(text, unit, seconds):
    assert text.endswith(" " + unit) and abs(float(text.split()[0]) / 1e3 ** (1 if unit == "ms" else 2) - seconds) < 0.01 * seconds, (text, seconds)
products = device["gemm"]["times"]
assert [p["m"] * p["n"] * p["k"] for p in products] == sorted(p["m"] * p["n"] * p["k"] for p in products) and len(products) >= 3
for p in products:
    near(p["time"], "us", median(kernel="gemm", rows=p["m"], columns=p["n"], inner=p["k"]))
for entry in device["selection_times"]:
    near(entry["time"], "ms", median(kernel="select", entries=entry["entries"], chosen=int(entry["density"] * entry["entries"])))
assert [entry["dimension"] for entry in device["inverse"]["times"]] == [64, 128]
near(device["inverse"]["times"][1]["time"], "ms", median(kernel="invert", rows=128))
near(device["launch"], "us", median(kernel="launch"))
CHECK
cat >s.json <<'SCENARIO'
{"name": "s", "cluster": {"use": "clusters/ethernet-1g.json", "device": {"use": "d.json"}, "workers": 4}, "workload": {"use": "workloads/resnet20.json"}, "learner": null,
 "algorithm": {"name": "spd_kfac"}, "stop": {"steps": 2}}
SCENARIO
"$simsgd" run s.json --json >out.json
code=0
"$python" "$1" -o x.json --largest 3 2>/dev/null || code=$?
[ "$code" = 2 ] && [ ! -e x.json ]
echo passed

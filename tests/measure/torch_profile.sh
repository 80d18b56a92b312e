#!/usr/bin/env bash
# torch_profile.sh PROFILE SIMSGD: a network of which every number is known by hand becomes a workload that runs.
set -euo pipefail
python=/usr/bin/python3
"$python" -c 'import torch' 2>/dev/null || { echo "SKIPPED: no python3-torch" && exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/net.py" <<'NET'
import torch
def make():
    return torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(inplace=True), torch.nn.Flatten(),
                               torch.nn.Linear(4 * 36, 10))
NET
cd "$folder"
"$python" "$1" net.py:make --input 1x6x6 --classes 10 --batch 8 --repeats 3 --device-name "CPU core" -o w.json 2>said || { cat said && exit 1; }
"$python" - <<'CHECK'
import json
w = json.load(open("w.json"))
conv, fc = w["layers"]
# 36 places x 4 channels x 9 weights x 2; 144 x 10 x 2.
assert (conv["type"], conv["tensors"], conv["forward_flop"], conv["activations"], conv["positions"]) == ("conv", [[4, 9], 4], 2592, 144, 36), conv
assert (fc["type"], fc["tensors"], fc["forward_flop"], fc["activations"]) == ("fc", [[10, 144], 10], 2880, 10), fc
assert all(layer[key] > 0 for layer in w["layers"] for key in ("forward", "backward"))
assert w["measured_on"] == w["one_device"][0]["device"] == "CPU core"
assert w["batch"] == w["layer_times_batch"] == w["one_device"][0]["batch"] == 8
CHECK
cat >s.json <<'SCENARIO'
{"name": "s", "cluster": {"use": "clusters/ethernet-1g.json", "workers": 2}, "workload": {"use": "w.json"}, "learner": null,
 "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 2}}
SCENARIO
"$2" run s.json --json >out.json
code=0
"$python" "$1" missing.py:make --batch 1 -o x.json 2>/dev/null || code=$?
[ "$code" = 2 ] && [ ! -e x.json ]
echo passed

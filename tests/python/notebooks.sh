#!/usr/bin/env bash
# notebooks.sh SIMSGD SOURCES: every notebook of examples/ runs, with Debian's nbconvert, outside the sources.
set -euo pipefail
/usr/bin/python3 -c 'import nbconvert, ipykernel, pandas' 2>/dev/null || { echo "SKIPPED: no nbconvert, ipykernel and pandas" && exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$2"/examples/*.ipynb "$folder"
cd "$folder"
export SIMSGD=$1 PYTHONPATH=$2/python PYTHONDONTWRITEBYTECODE=1 HOME=$folder
mkdir -p kernels/python3
echo '{"argv": ["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3", "language": "python"}' >kernels/python3/kernel.json
export JUPYTER_PATH=$folder
/usr/bin/python3 -m nbconvert --to notebook --execute --ExecutePreprocessor.timeout=120 --output-dir done *.ipynb >log 2>&1 ||
  { cat log && exit 1; }
/usr/bin/python3 - <<'CHECK'
import base64, glob, json
def drawn(spec):
    return all(part["data"]["values"] for part in spec.get("vconcat", [spec]))
names = ["calibrate", "first_run", "my_method", "stragglers", "which_algorithm"]
assert sorted(glob.glob("done/*")) == [f"done/{name}.ipynb" for name in names], glob.glob("done/*")
for name in names:
    cells = json.load(open(f"done/{name}.ipynb"))["cells"]
    data = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    assert not [output for cell in cells for output in cell.get("outputs", []) if output["output_type"] == "error"], name
    assert any("text/html" in each for each in data), name
    charts = [each for each in data if "application/vnd.vegalite.v6+json" in each]
    pictures = [base64.b64decode(each["image/png"]) for each in charts if "image/png" in each]
    assert all(drawn(each["application/vnd.vegalite.v6+json"]) for each in charts), name
    assert charts or name == "calibrate", name  # which asks no study
    assert all(picture.startswith(b"\x89PNG") for picture in pictures), name
    print(name, len(data), "outputs,", len(charts), "charts,", len(pictures), "with a picture")
lines = [line for cell in json.load(open("my_method.ipynb"))["cells"] if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
assert len(lines) <= 25, len(lines)  # a method of one's own against three shipped ones, with intervals
run = json.load(open("done/first_run.ipynb"))["cells"][1]["outputs"][0]["data"]
assert drawn(run["application/vnd.vegalite.v5+json"]) and "throughput_samples_per_s" in "".join(run["text/html"]), run.keys()
fitted = "".join(json.load(open("done/calibrate.ipynb"))["cells"][3]["outputs"][0]["text"])
low, high = [float(each) for each in fitted.split("90 %: ")[1].split("\n")[0].split(" to ")]
assert low < 8.7e9 / 8 < high, fitted  # the bandwidth that the measurements were made with
CHECK
/usr/bin/python3 - <<'CTRL_C'
import time
from jupyter_client.manager import start_new_kernel
manager, kernel = start_new_kernel(kernel_name="python3")
def answered(asked):
    while True:
        said = kernel.get_shell_msg(timeout=60)
        if said["parent_header"]["msg_id"] == asked:
            return said["content"]
try:
    asked = kernel.execute("import simsgd\nbase = {'cluster': {'use': 'clusters/ethernet-1g.json', 'workers': 64}, 'workload': {'use': 'workloads/resnet50.json', 'batch': 32}, "
                          "'algorithm': {'name': 'local_sgd'}, 'stop': {'steps': 10_000_000}}\nprint('begins')\nsimsgd.run(base)")
    while kernel.get_iopub_msg(timeout=60)["content"].get("text") != "begins\n":
        pass
    time.sleep(1)
    manager.interrupt_kernel()
    said = answered(asked)
    assert said.get("ename") == "KeyboardInterrupt", said
    time.sleep(1)  # cells that were asked for before the error are given up, and the kernel takes a moment for it
    said = answered(kernel.execute("assert simsgd.run(base, {'/stop/steps': 5}).metrics['compute_s'] > 0"))
    assert said["status"] == "ok", said
    print("a run that was interrupted in a notebook ends, and the next one works")
finally:
    kernel.stop_channels()
    manager.shutdown_kernel(now=True)
CTRL_C
echo passed

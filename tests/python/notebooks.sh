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
for notebook in *.ipynb; do
  /usr/bin/python3 -m nbconvert --to notebook --execute --ExecutePreprocessor.timeout=120 --output "done_$notebook" "$notebook"
done
/usr/bin/python3 - <<'CHECK'
import glob, json
for path in glob.glob("done_*"):
    shown = [output for cell in json.load(open(path))["cells"] for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown), path
    print(path, len(shown), "outputs")
chart = json.load(open("done_first_run.ipynb"))["cells"][1]["outputs"][0]["data"]
assert chart["application/vnd.vegalite.v5+json"]["data"]["values"], chart.keys()
CHECK
echo passed

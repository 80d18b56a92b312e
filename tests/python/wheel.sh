#!/usr/bin/env bash
# wheel.sh BUILD SOURCES: the wheel is installed into an empty environment, and used from an empty folder: from `pip install` to
# the first chart of a study. Within 60 s, of which the processor's count here.
set -euo pipefail
build=$1 sources=$2
/usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "SKIPPED: no python3-venv" && exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wheel=$(/usr/bin/python3 "$sources/python/make_wheel.py" "$build" "$folder")
# Nobody is led elsewhere by a link that was planted beside the wheel, and two writers of one name leave a whole one: the same bytes.
mkdir "$folder/planted"
ln -s "$folder/victim" "$folder/planted/$(basename "$wheel").part"
/usr/bin/python3 "$sources/python/make_wheel.py" "$build" "$folder/planted" >/dev/null & other=$!
/usr/bin/python3 "$sources/python/make_wheel.py" "$build" "$folder/planted" >/dev/null
wait "$other"
[ ! -e "$folder/victim" ]
cmp "$wheel" "$folder/planted/$(basename "$wheel")"
[ "$(ls -A "$folder/planted" | wc -l)" = 2 ]
/usr/bin/python3 -m venv "$folder/empty"
mkdir "$folder/here"
cd "$folder/here"
unset SIMSGD PYTHONPATH
"$folder/empty/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel"
"$folder/empty/bin/python" -m simsgd quickstart --set /stop/steps=20 --set /target=null -o first.db 2>said || { cat said && exit 1; }
"$folder/empty/bin/simsgd" results list first.db | head -3
"$folder/empty/bin/python" - <<'FIRST'
import os, resource, subprocess, sys
import simsgd
assert simsgd.find_program().startswith(os.path.dirname(simsgd.__file__)), simsgd.find_program()
assert os.path.exists(os.path.join(os.path.dirname(simsgd.__file__), "py.typed"))
libraries = " ".join(os.listdir(os.path.join(os.path.dirname(simsgd.__file__), "lib")))
assert "libceres.so" in libraries and "libcpp-httplib.so" in libraries, libraries
run = simsgd.run("quickstart.json", {"/learner": None, "/target": None, "/stop/steps": 20})
assert run.metrics["throughput_samples_per_s"] > 0
chart = simsgd.results("first.db").chart("throughput")._repr_mimebundle_()
assert chart["application/vnd.vegalite.v6+json"]["data"]["values"]
print(sorted(chart))
FIRST
cat >mine.py <<'METHOD'
def mine(w):
    while (yield w.next_step()):
        w.apply((yield w.all_reduce((yield w.gradient()), scale=1 / w.size)))
METHOD
"$folder/empty/bin/python" -m simsgd run quickstart.json --point 1 --set /learner=null --set /target=null --set /stop/steps=4 --python mine.py | head -3
# The manual's script of a method of one's own, which takes nothing but the wheel.
sed -n '/This script compares/,/^```$/p' "$sources/docs/python.md" | sed '1,/^```python$/d; /^```$/d' >own.py
"$folder/empty/bin/python" own.py
echo "children's processor time, s: $(awk -v hz="$(getconf CLK_TCK)" '{print ($16 + $17) / hz}' /proc/$$/stat)"
awk -v hz="$(getconf CLK_TCK)" '($16 + $17) / hz > 60 {exit 1}' /proc/$$/stat
echo passed

#!/usr/bin/env bash
# run.sh TEST SIMSGD SOURCES: the facts in TEST.py, with Debian's python3.
set -euo pipefail
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || { echo "SKIPPED: no python3 with numpy" && exit 0; }
cd "$3/tests/python"
SIMSGD=$2 PYTHONPATH=$3/python PYTHONDONTWRITEBYTECODE=1 exec "$python" -m unittest "$1"

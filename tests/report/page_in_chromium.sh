#!/usr/bin/env bash
# Pages of small studies, and of 10,000 runs, in Debian's chromium, with puppeteer-core (./setup.sh web) under the Node
# that npm has pinned. Exit code 77, which CTest shows as skipped, where either is not installed.
#   page_in_chromium.sh SIMSGD SOURCES WEB WORK
set -euo pipefail
readonly simsgd=$1 sources=$2 web=$3/node_modules work=$4
node=$(ls "$web"/node-linux-*/bin/node 2>/dev/null | head -1 || true)
chromium=$(command -v chromium || true)
if [ -z "$node" ] || [ ! -d "$web/puppeteer-core" ] || [ -z "$chromium" ]; then
  echo "SKIPPED: no chromium, or no puppeteer-core and Node in $web: apt-get install chromium; ./setup.sh web"
  exit 77
fi
mkdir -p "$work"
"$simsgd" sweep run "$sources/tests/report/study.json" -o "$work/study.db" >/dev/null 2>&1
"$simsgd" report "$work/study.db" -o "$work/study.html"
"$node" "$sources/tests/report/browser.mjs" "$web" "$chromium" "$work/study.html" --cpu 2 "${@:5}"
if [ -f "$work/runs_10k.html" ]; then
  "$node" "$sources/tests/report/browser.mjs" "$web" "$chromium" "$work/runs_10k.html" --cpu 2
fi

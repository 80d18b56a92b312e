#!/usr/bin/env bash
# The page of `simsgd explore` in Debian's chromium, as tests/report/page_in_chromium.sh has a report's. Exit code 77,
# which CTest shows as skipped, where chromium or puppeteer-core is not installed.
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
rm -f "$work/address"  # of an earlier run
"$simsgd" explore "$sources/tests/live/study.json" --jobs 2 > "$work/address" &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
  [ -s "$work/address" ] && break
  sleep 0.1
done
timeout 120 "$node" "$sources/tests/live/live.mjs" "$web" "$chromium" "$(cat "$work/address")" "${@:5}"
kill -INT "$server"
code=0
wait "$server" || code=$?
[ "$code" -eq 130 ] || { echo "explore ended with $code"; exit 1; }

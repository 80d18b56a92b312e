#!/usr/bin/env bash
# The manual's site: built, its links followed, its pages opened in Debian's chromium. Exit code 77, which CTest shows as
# skipped, where what it needs is not installed.
#   site.sh SOURCES SITE
set -euo pipefail
readonly sources=$1 site=$2 web=$1/build/web/node_modules
node=$(ls "$web"/node-linux-*/bin/node 2>/dev/null | head -1 || true)
chromium=$(command -v chromium || true)
if ! command -v mkdocs >/dev/null || [ ! -f "$sources/build/site/complete" ] || [ -z "$node" ] || [ -z "$chromium" ]; then
  echo "SKIPPED: no mkdocs, chromium, or what draws: ./setup.sh docs; ./setup.sh web; apt-get install chromium"
  exit 77
fi
mkdocs build -q -f "$sources/site/mkdocs.yml" -d "$site"
python3 "$sources/tests/docs/site.py" "$sources" "$site"
"$node" "$sources/tests/docs/site.mjs" "$web" "$chromium" "$site" "${@:3}"

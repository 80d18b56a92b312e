#!/usr/bin/env bash
# types.sh SOURCES: the package's annotations hold together, as Python 3.9 has them. Those of torch are not read: they take a minute.
set -euo pipefail
command -v mypy >/dev/null || { echo "SKIPPED: no mypy" && exit 0; }
mypy --config-file <(printf '[mypy]\n[mypy-torch.*]\nfollow_imports = skip\n') \
  --python-version 3.9 --strict --ignore-missing-imports --cache-dir=/dev/null "$1/python/simsgd"

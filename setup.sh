#!/usr/bin/env bash
# SimSGD on a fresh Debian 12: installs what is missing, builds, and then
#   ./setup.sh run     runs the quick-start study, and draws its page
#   ./setup.sh test    runs the tests
#   ./setup.sh build   stops after the build
#   ./setup.sh python  builds, and makes a wheel for pip (docs/python.md)
#   ./setup.sh docs    makes the manual as a site, build/docs
#   ./setup.sh image   builds, and makes Debian packages, of which the Dockerfile makes an image
#   ./setup.sh ci      installs all that CI (.ci/run) needs, and stops: the three below, chromium, Debian's torch
#   ./setup.sh tools   installs what keeps the sources in order, and stops
#   ./setup.sh slurm   installs what the test of sweeps on Slurm needs
#   ./setup.sh web     gets what `simsgd report` draws with (vega, Node 22), held to a lock file, into build/web
# Takes no question. Needs root (or sudo) only where a package is missing.
set -euo pipefail
cd "$(dirname "$0")"

readonly packages=(
  g++ cmake ninja-build ccache pkgconf git ca-certificates
  dpkg-dev python3
  libsimgrid-dev libeigen3-dev libboost-dev libboost-context-dev libboost-graph-dev libexpat1-dev nlohmann-json3-dev libfmt-dev libcli11-dev
  libceres-dev libnlopt-dev libnlopt-cxx-dev libvalijson-dev librandom123-dev libsqlite3-dev zlib1g-dev
  libcpp-httplib-dev libprotobuf-dev protobuf-compiler
  openmpi-bin libopenmpi-dev iproute2
  doctest-dev librapidcheck-dev libbenchmark-dev
  dataset-fashion-mnist jargon-text
)
# What keeps the sources in order (.ci), and libFuzzer; Debian 12 has version 14 of all.
readonly tools=(clang-format clang-tidy clang libclang-rt-14-dev)
# What tests are skipped without: sweeps on Slurm; pages in a browser, layers of a PyTorch model, figures as PDF, the
# Python package and its notebooks.
readonly slurm=(munge slurmctld slurmd slurm-client)
readonly manual=(mkdocs mkdocs-material)
readonly tested_with=(chromium python3-torch librsvg2-bin python3-numpy python3-pandas libpython3.11 python3-venv
  python3-nbconvert python3-ipykernel mypy)

say() { printf '\n== %s\n' "$*" >&2; }

# install_packages PACKAGE...
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "All packages are installed"
    return
  fi
  say "Installing ${missing[*]}"
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# fetch_npm FOLDER SOURCE: what SOURCE's lock file names, into build/FOLDER. Debian's npm only fetches, and where there is another
# one (9 or later) that will do. No script of a package runs.
fetch_npm() {
  local folder=build/$1 lock=$2/package-lock.json
  if cmp -s "$lock" "$folder/package-lock.json" && [ -f "$folder/complete" ]; then
    say "What $lock names is there: $folder"
    return
  fi
  command -v npm >/dev/null || install_packages npm
  say "Getting what $lock names with npm, into $folder"
  mkdir -p "$folder"
  rm -f "$folder/complete"
  cp "$2/package.json" "$lock" "$folder"
  npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  touch "$folder/complete"
}

# Vega-Lite, and the Node that draws figures with it, are on npm alone.
fetch_web() { fetch_npm web analysis/faces/web; }

# What the manual's site draws and searches with.
fetch_site() { fetch_npm site site; }

# build [TARGET...]
build() {
  say "Building (release, in build/release; on two cores 5 minutes for what runs, 5 more for the tests)"
  cmake --preset release >/dev/null
  NINJA_STATUS='[%f/%t, %e s] ' cmake --build --preset release -- "$@"
}

run() {
  say "Running the quick-start: scenarios/quickstart.json"
  ./build/release/simsgd sweep run scenarios/quickstart.json -o out/quickstart.db --force \
    --artifacts out/quickstart
}

# draw_page PROCESS: the page of the quick-start, once PROCESS has got what draws it. Without it there is the table.
draw_page() {
  if wait "$1" && ./build/release/simsgd report out/quickstart.db -o out/quickstart.html; then
    say "The quick-start's page, for any browser: out/quickstart.html"
  else
    say "No page was drawn: build/web.log says why. Later: ./setup.sh web, then
   build/release/simsgd report out/quickstart.db -o out/quickstart.html"
  fi
}

run_tests() {
  say "Testing"
  ctest --preset release -j $(($(nproc) + 1))  # some wait for clocks, browsers and Slurm
}

case "${1:-}" in
  run)
    install_packages "${packages[@]}"
    mkdir -p build out
    (fetch_web) >build/web.log 2>&1 &  # what draws the page, beside the build
    build simsgd
    run
    draw_page $!
    say "Building what calibrate, import, replay, explore, methods in Python and --simgrid need"
    build simsgd_libraries simsgd_documents
    ;;
  test)
    install_packages "${packages[@]}"
    build
    run_tests
    ;;
  build)
    install_packages "${packages[@]}"
    build
    ;;
  python)
    install_packages "${packages[@]}" python3
    (fetch_web) || say "Without npm's Vega the wheel's simsgd report writes tables, and no page"
    build simsgd simsgd_libraries simsgd_documents
    say "The wheel, for pip install:"
    python3 python/make_wheel.py build/release
    ;;
  docs)
    install_packages ca-certificates "${manual[@]}"
    fetch_site
    mkdocs build -q -f site/mkdocs.yml
    say "The manual, for any browser: build/docs/index.html"
    ;;
  image)
    install_packages "${packages[@]}"
    (fetch_web) || say "Without npm's Vega the image's simsgd report writes tables, and no page"
    build
    (cd build/release && cpack -G DEB >/dev/null)
    say "The Debian packages, in build/release/packages; an image of them:
   docker build -t simsgd -f Dockerfile build/release/packages"
    ;;
  ci)
    install_packages "${packages[@]}" "${tools[@]}" "${slurm[@]}" "${tested_with[@]}" "${manual[@]}"
    fetch_web
    fetch_site
    ;;
  slurm)
    install_packages "${slurm[@]}"
    ;;
  tools)
    install_packages "${packages[@]}" "${tools[@]}"
    ;;
  web)
    install_packages ca-certificates
    fetch_web
    ;;
  *)
    echo "usage: ./setup.sh run | test | build | python | docs | image | ci | tools | slurm | web" >&2
    exit 2
    ;;
esac

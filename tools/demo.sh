#!/bin/bash
# `make demo`: builds, runs an unmodified CUDA program (examples/cuda_pose) on this machine's device and through an
# emulated wireless link in every mode, and ends with a table, a picture, a page and where they are.
#   WHARF_DEMO_SCENARIOS=indoors,outdoors,fixed    which links (default fixed)
#   WHARF_DEMO_INFERENCES=10                       measured inferences in the fast modes
set -euo pipefail
cd "$(dirname "$0")/.."
scenarios=${WHARF_DEMO_SCENARIOS:-fixed}
inferences=${WHARF_DEMO_INFERENCES:-10}
out=out/demo
bin=build/default/bin
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
# Starts a command that says one line on standard output when it is ready; LINE gets it, LAST its process id.
start() {
  exec {ready}< <(exec "$@")
  LAST=$!
  pids+=("$LAST")
  if ! read -r -t 30 -u "$ready" LINE; then
    echo "demo: '$*' did not start" >&2
    exit 1
  fi
}

say "Install what is missing, build"
tools/install_packages.sh
tools/install_cuda.sh
if ! command -v nvcc >/dev/null && [[ ! -x /usr/local/cuda/bin/nvcc ]]; then
  if [[ ! -x build/cuda/bin/nvcc ]]; then
    echo "demo: the demonstration is a CUDA program, and there is no nvcc to compile it (tools/install_cuda.sh)" >&2
    exit 1
  fi
  export CMAKE_PREFIX_PATH=$PWD/build/cuda
fi
cmake --preset default >/dev/null
cmake --build --preset default -j "$(nproc)" --target demo_programs
mkdir -p "$out"

say "A server, and a Wi-Fi link of 93 Mbit/s with 2.6 ms round trip in front of it"
sandbox=strong
"$bin/wharf" doctor --sandbox >/dev/null || sandbox=weak  # a container may permit no name spaces
WHARF_LOG=warn start "$bin/wharf" serve --sandbox "$sandbox" --listen 127.0.0.1:0
server=$(grep -oE '127\.0\.0\.1:[0-9]+' <<<"$LINE" | tail -1)
echo "$LINE"
start "$bin/wharf" link --listen 127.0.0.1:0 --target "$server" --rate 93mbit --rtt 2.6ms
link=$(grep -oE '127\.0\.0\.1:[0-9]+' <<<"$LINE" | head -1)
echo "$LINE"

say "The CUDA program through that link, unmodified: build/default/cuda/cuda_pose"
"$bin/wharf" run --server "$link" --stats - -- build/default/cuda/cuda_pose \
  --image examples/cuda_pose/scene.png --output "$out/pose.png" --inferences 5 --check

say "The same program in every mode (percall makes thousands of round trips: this takes minutes)"
"$bin/wharf" bench offload --scenarios "$scenarios" --inferences "$inferences" \
  --json "$out/offload.json" --plot "$out/offload.svg" --html "$out/offload.html"

say "Written"
echo "  picture   $PWD/$out/pose.png"
echo "  rows      $PWD/$out/offload.json"
echo "  chart     $PWD/$out/offload.svg"
echo "  page      $PWD/$out/offload.html"

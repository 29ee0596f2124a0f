#!/bin/bash
# `make demo-ar`: drives through the synthetic town, an AR server, a client with three tasks, and two that the server
# promises an accuracy; ends with a video, a picture of each client and what each has lost.
#   WHARF_DEMO_SECONDS=10    how long each drive is
#   WHARF_DEMO_SLA=0.1       what is promised, in AbsRel of depth
#   WHARF_BIN=build/default/bin
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${WHARF_DEMO_SECONDS:-10}
sla=${WHARF_DEMO_SLA:-0.1}
bin=${WHARF_BIN:-build/default/bin}
out=out/demo-ar
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
# Painted beforehand: few machines paint the town as fast as a camera sees it.
drive() {
  [[ -f $out/drive-$1/done-$seconds ]] && return
  rm -rf "$out/drive-$1"
  "$bin/wharf" ar render --category "$2" --video "$3" --frames "0:$((60 * seconds - 1))" --out "$out/drive-$1"
  touch "$out/drive-$1/done-$seconds"
}
client() { "$bin/wharf" ar client --server "unix:$out/server" "$@"; }

if [[ -z ${WHARF_BIN:-} ]]; then
  say "Install what is missing, build"
  tools/install_packages.sh
  cmake --preset default >/dev/null
  cmake --build --preset default -j "$(nproc)" --target wharf wharf_model
fi
mkdir -p "$out"

say "Three drives of $seconds s: much traffic and turns, much traffic, little of either"
drive tasks H/H 3
drive traffic H/L 0 &
drive quiet L/L 0
wait

say "A server"
sandbox=strong
"$bin/wharf" doctor --sandbox >/dev/null || sandbox=weak  # a container may permit no name spaces
"$bin/wharf" ar serve --sandbox "$sandbox" --listen "unix:$out/server" --largest-batch 4 >"$out/serve.out" 2>"$out/serve.log" &
pids+=($!)
for _ in $(seq 300); do grep -q '^wharf: ' "$out/serve.out" && break || sleep 0.1; done
grep -q '^wharf: ' "$out/serve.out" || { tail -1 "$out/serve.log" >&2; exit 1; }

say "A client with depth, pose and boxes, of which it offloads one at a time: a video, and its last frame"
client --video "$out/drive-tasks" --view "$out/tasks.mp4"
client --video "$out/drive-tasks" --view "$out/tasks.png" >/dev/null

say "Two clients at once, to each of which the server promises that depth loses at most $sla"
client --video "$out/drive-traffic" --tasks depth --sla "$sla" --view "$out/traffic.png" >"$out/traffic.txt" &
traffic=$!
client --video "$out/drive-quiet" --tasks depth --sla "$sla" --view "$out/quiet.png" >"$out/quiet.txt"
wait "$traffic"
cat "$out/traffic.txt" "$out/quiet.txt"

say "To look at: $out/tasks.mp4, $out/tasks.png, $out/traffic.png, $out/quiet.png"

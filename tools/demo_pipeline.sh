#!/bin/bash
# `make demo-pipeline`: etcd and three workers of two classes on this machine, a plan for a small network, requests; ends
# with the share answered in time beside the simulator's for the same plan and load, and with what a killed worker does.
#   WHARF_DEMO_LOAD=0.5      share of what the plan serves (the workers share this machine's cores)
#   WHARF_DEMO_SECONDS=15    how long requests come
#   WHARF_BIN=build/default/bin
set -euo pipefail
cd "$(dirname "$0")/.."
load=${WHARF_DEMO_LOAD:-0.5}
seconds=${WHARF_DEMO_SECONDS:-15}
bin=${WHARF_BIN:-build/default/bin}
out=out/demo-pipeline
etcd=http://127.0.0.1:23790
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
# Starts a command that says on standard output when it is ready, and waits for that. LAST gets its process id.
start() {
  local log=$1
  shift
  "$@" >"$out/$log.log" 2>&1 &
  LAST=$!
  pids+=("$LAST")
  for _ in $(seq 300); do
    grep -q '^wharf: ' "$out/$log.log" && return
    kill -0 "$LAST" 2>/dev/null || break
    sleep 0.1
  done
  echo "demo: '$*' did not start: $(tail -1 "$out/$log.log")" >&2
  exit 1
}
worker() {
  start "$1" "$bin/wharf" pipeline worker --sandbox "$sandbox" --name "$1" --class "$2" --etcd "$etcd" --lease 2
}

if [[ -z ${WHARF_BIN:-} ]]; then
  say "Install what is missing, build"
  tools/install_packages.sh
  cmake --preset default >/dev/null
  cmake --build --preset default -j "$(nproc)" --target wharf wharf_model wharf_plan pipeline_test_network
fi
rm -rf "$out"
mkdir -p "$out"

say "A residual network with random weights, cut into blocks and measured on two classes of this machine: the slow one takes 3 times as long"
"$bin/pipeline_test_network" "$out/net.onnx" 32 3 2 64
"$bin/wharf" pipeline profile "$out/net.onnx" --out "$out/lab" --blocks 8 --max-batch 4 \
  --classes fast=threads:1,slow=threads:1,slowdown:3

say "A plan for one fast and two slow workers"
cat >"$out/cluster.yaml" <<YAML
name: this machine
link_gbit_per_s: 1
classes: [{name: fast}, {name: slow}]
hosts: [{class: fast, hosts: 1}, {class: slow, hosts: 2}]
YAML
cat >"$out/models.yaml" <<YAML
profiles: lab
margin: 0.4
models: [{name: net, slo_ms: 400}]
YAML
"$bin/wharf" pipeline plan --cluster "$out/cluster.yaml" --models "$out/models.yaml" --json "$out/plan.json"

say "etcd, three workers, the scheduler"
sandbox=strong
"$bin/wharf" doctor --sandbox >/dev/null || sandbox=weak  # a container may permit no name spaces
/usr/bin/etcd --data-dir "$out/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
  --listen-peer-urls http://127.0.0.1:23800 --initial-advertise-peer-urls http://127.0.0.1:23800 \
  --initial-cluster default=http://127.0.0.1:23800 >"$out/etcd.log" 2>&1 &
pids+=($!)
for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/23790) 2>/dev/null && break || sleep 0.1; done
worker f1 fast=threads:1
worker s1 slow=threads:1,slowdown:3
victim=$LAST
disown "$victim"  # its death is no news
worker s2 slow=threads:1,slowdown:3
start serve "$bin/wharf" pipeline serve --sandbox "$sandbox" "$out/plan.json" --profiles "$out/lab" --etcd "$etcd" --listen 127.0.0.1:0
address=$(grep -oE '127\.0\.0\.1:[0-9]+' "$out/serve.log" | head -1)
for _ in $(seq 100); do [[ $(grep -c 'a worker is there' "$out/serve.log") -ge 3 ]] && break || sleep 0.1; done
# Until the workers have the model.
"$bin/wharf" pipeline load --server "$address" --rate 5 --seconds 2 >/dev/null

say "Requests for $seconds s at $load of the plan"
"$bin/wharf" pipeline load --server "$address" --load "$load" --seconds "$seconds" --json "$out/real.json"

say "The same plan and load, simulated"
"$bin/wharf" pipeline simulate "$out/plan.json" --load "$load" --seconds "$seconds" --guard 0.1 --json "$out/simulated.json"

say "Again, and a slow worker is killed after a third of the time: the plan is made anew for the two that are left"
(sleep "$(python3 -c "print($seconds / 3)")" && kill -9 "$victim") &
"$bin/wharf" pipeline load --server "$address" --load "$load" --seconds "$seconds" --json "$out/killed.json"
grep -E 'lost|gone|new plan' "$out/serve.log"
say "Written to $out"

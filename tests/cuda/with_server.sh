#!/bin/bash
# Runs a CUDA test program in one way and, in a server mode, compares what it prints with what it printed locally.
#   with_server.sh WAY OUTPUT_DIR PROGRAM [ARGUMENT…]     WAY: local, percall, cached, posted, replay, native or fake
# local: wharf run --local, the output is kept. percall, cached, posted, replay: through a server of its own on loopback. native:
# the vendor's libraries and a real GPU; exit status 77 where there is none. fake: like local, on the GPU of the driver and
# the libraries in FAKE_DRIVER (device/cuda/README.md), which knows no kernels.
# WHARF_KERNEL_PACK: what the server is given, for a program without PTX.
# WHARF_BIN: where `wharf` is. CUDA_LIBRARIES: the toolkit's libraries (native, and NVRTC in every way). WHARF_SANITIZER:
# in sanitizer builds the runtime, which has to be loaded before the drop-in libraries. Whatever it reports about the
# program or the server, fails the test. In a build for devices, WHARF_CLIENT: the words that begin `wharf`, which runs the
# program; WHARF_EMULATOR: those that begin the program, if it is for another processor; WHARF_SERVER_PROGRAMS: the programs
# that run locally. WHARF_SERVER: the words that begin the `wharf` that serves, if it is for another processor;
# WHARF_TIMEOUT: how long it may take to answer. SAME_AS: another program, whose output of its local run is to be had in
# every way.
set -euo pipefail
way=$1 kept=$2
shift 2
name=$(basename "$1")
output=$kept/$name.$way.txt
expected=$kept/${SAME_AS:-$name}.local.txt
mkdir -p "$kept"
export HARNESS_EMULATOR=${WHARF_EMULATOR:-}
export XDG_CACHE_HOME=$kept/cache
# Kernels are the same whatever processor their program is for, so the server may have compiled them before.
if [[ -n ${WHARF_SERVER_PROGRAMS:-} ]]; then XDG_CACHE_HOME=$WHARF_SERVER_PROGRAMS/output/cache; fi
export LD_LIBRARY_PATH=${CUDA_LIBRARIES:-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
wharf=("$WHARF_BIN/wharf")
serving=("${wharf[@]}")
if [[ -n ${WHARF_SERVER:-} ]]; then read -ra serving <<<"$WHARF_SERVER"; fi
read -ra emulator <<<"${WHARF_EMULATOR:-}"
if [[ -n ${WHARF_SANITIZER:-} ]]; then
  rm -f "$output".report.*
  # The drop-in libraries close their session when the program ends, and leave its threads to the system.
  suppressions=$(realpath "$(dirname "$0")/../../cmake/tsan_suppressions.txt")
  export TSAN_OPTIONS=log_path=$output.report:report_thread_leaks=0:suppressions=$suppressions
  # Nor can leaks be looked for in a sandboxed worker: LeakSanitizer wants ptrace.
  export ASAN_OPTIONS=log_path=$output.report:verify_asan_link_order=0:detect_leaks=0
  wharf=(env "LD_PRELOAD=$WHARF_SANITIZER" "${wharf[@]}")
  serving=("${wharf[@]}")
fi

client=("${wharf[@]}")
if [[ -n ${WHARF_CLIENT:-} ]]; then read -ra client <<<"$WHARF_CLIENT"; fi

pack=(${WHARF_KERNEL_PACK:+--kernel-pack "$WHARF_KERNEL_PACK"})

# A program's output, kept and shown; its exit status is ours.
run() {
  local status=0
  "$@" >"$output" 2>"$output.log" || status=$?
  cat "$output"
  if ((status)); then cat "$output.log" >&2; fi
  return "$status"
}

# Waited for, so that it has reported what it has to.
stop_server() {
  [[ -n ${server:-} ]] || return 0
  kill "$server" 2>/dev/null || true
  wait "$server" || true
  server=
}

case $way in
  native)
    PATH=$PATH:/usr/sbin:/sbin ldconfig -p | grep -q 'libcuda\.so\.1' || exit 77
    run "$@"
    ;;
  local)
    program=${WHARF_SERVER_PROGRAMS:-$(dirname "$1")}/$name
    # It is for this processor, and so is what it starts.
    HARNESS_EMULATOR='' run "${wharf[@]}" run --local --device soft "${pack[@]}" -- "$program" "${@:2}"
    [[ -z ${SAME_AS:-} ]] || diff "$expected" "$output"
    ;;
  fake)
    LD_LIBRARY_PATH=$FAKE_DRIVER:$LD_LIBRARY_PATH run "${wharf[@]}" run --local --device cuda -- "$@"
    ;;
  percall | cached | posted | replay)
    # A container may permit no name spaces.
    sandbox=strong
    "${serving[@]}" doctor --sandbox >"$output.server" || sandbox=weak
    exec {server_says}< <(exec "${serving[@]}" serve --sandbox "$sandbox" --listen 127.0.0.1:0 --device soft "${pack[@]}" --threads 0 2>"$output.server")
    server=$!
    trap stop_server EXIT
    read -r -t 60 line <&"$server_says" || { echo "the server did not start" >&2; cat "$output.server" >&2; exit 1; }
    run "${client[@]}" run --server "${line##* }" --mode "$way" --timeout "${WHARF_TIMEOUT:-120s}" -- "${emulator[@]}" "$@"
    if ! diff "$expected" "$output"; then
      echo "$name prints something else through the server than locally" >&2
      exit 1
    fi
    ;;
  *)
    echo "unknown way: $way" >&2
    exit 2
    ;;
esac

stop_server
for report in "$output".report.*; do
  [[ -e $report ]] || continue
  cat "$report" >&2
  exit 1
done

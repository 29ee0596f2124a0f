#!/bin/bash
# Puts the headers and the runtime library of CUDA 12.8 and the static runtime of CUDA 12.9 into build/cuda12, from the
# wheels NVIDIA publishes on PyPI (1 and 4 MB to download; NVIDIA's licence applies). Only tests use them: the build itself
# has what differs from CUDA 13 described (wharf/cudashim/api_12.def, cudart/structs_12.h), the tests compare that with
# NVIDIA's files and compile programs against CUDA 12's headers. Where a wheel cannot be fetched, those tests are left out.
#   WHARF_NO_CUDA=1  never download
#   --blas           NVIDIA's cuBLAS 12.8, too, to compare its names (580 MB to download, 830 MB on disk)
#   --fft            likewise its cuFFT (190 MB to download, 280 MB on disk)
#   --solver         likewise its cuSOLVER (270 MB to download)
set -euo pipefail
cd "$(dirname "$0")/.."
target=$PWD/build/cuda12

wheels=()
[[ -e $target/lib/libcudart.so.12 ]] || wheels+=(nvidia-cuda-runtime-cu12==12.8.90)
[[ " $* " != *" --blas "* || -e $target/lib/libcublas.so.12 ]] || wheels+=(nvidia-cublas-cu12==12.8.4.1)
[[ " $* " != *" --fft "* || -e $target/lib/libcufft.so.11 ]] || wheels+=(nvidia-cufft-cu12==11.3.3.83)
[[ " $* " != *" --solver "* || -e $target/lib/libcusolver.so.11 ]] || wheels+=(nvidia-cusolver-cu12==11.7.3.90)
static=()  # 12.8's wheel has none
[[ -e $target/lib/libcudart_static.a ]] || static+=(nvidia-cuda-runtime-cu12==12.9.79)
((${#wheels[@]} + ${#static[@]})) || exit 0
if [[ -n ${WHARF_NO_CUDA:-} || $(uname -m) != x86_64 ]]; then
  exit 0
fi

mkdir -p build
staging=$(mktemp -d build/cuda12.XXXXXX)
trap 'rm -rf "$staging"' EXIT
# fetch FOLDER WHEEL...
fetch() {
  python3 -m pip install --quiet --no-deps --no-compile --no-warn-conflicts --disable-pip-version-check \
    --root-user-action=ignore --retries 1 --timeout 20 --target "$staging/$1" "${@:2}" && return
  echo "install_cuda12: ${*:2} could not be fetched: tests that need CUDA 12's files are left out" >&2
  exit 0
}

if ((${#wheels[@]})); then
  fetch shared "${wheels[@]}"
  mkdir -p "$target"
  for part in "$staging"/shared/nvidia/*/; do
    if [[ -d $part/include ]]; then cp -r "$part"/{include,lib} "$target/"; fi
  done
fi
if ((${#static[@]})); then
  fetch static "${static[@]}"
  cp "$staging"/static/nvidia/cuda_runtime/lib/libcudart_static.a "$target/lib/"
fi

#!/bin/bash
# Puts NVIDIA's CUDA 13 compiler, headers and link libraries into build/cuda, from the wheels NVIDIA publishes on PyPI
# (about 1.3 GB to download; NVIDIA's licence applies). Only compiling CUDA programs needs them, running does not.
# Does nothing where nvcc is installed, or where it ran before.
#   WHARF_NO_CUDA=1            never download: build without the CUDA programs and the drop-in libraries
#   WHARF_FORCE_CUDA_WHEELS=1  fetch them although nvcc is there
set -euo pipefail
cd "$(dirname "$0")/.."
target=$PWD/build/cuda

if [[ -z ${WHARF_FORCE_CUDA_WHEELS:-} ]] && { command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; }; then
  exit 0
fi
[[ -e $target/.complete ]] && exit 0
if [[ -n ${WHARF_NO_CUDA:-} ]]; then
  echo "install_cuda: no nvcc and WHARF_NO_CUDA is set: the CUDA programs and drop-in libraries are left out"
  exit 0
fi
if [[ $(uname -m) != x86_64 ]]; then
  echo "install_cuda: no nvcc; install the CUDA toolkit 13 (the wheels used here are for x86_64)" >&2
  exit 1
fi

wheels=(
  nvidia-cuda-nvcc==13.0.88     # nvcc, ptxas, fatbinary
  nvidia-nvvm==13.0.88          # cicc, libdevice
  nvidia-cuda-crt==13.0.88      # headers of the compiler
  nvidia-cuda-runtime==13.0.96  # cuda.h, cuda_runtime.h, libcudart
  nvidia-cuda-cccl==13.0.85     # Thrust, CUB, cuda::std
  nvidia-cuda-nvrtc==13.0.88    # run-time compilation
  nvidia-curand==10.4.0.35      # cuRAND's device API and its library's names
  nvidia-cublas==13.1.0.3       # cuBLAS headers, and what -lcublas links against
  nvidia-cufft==12.0.0.61       # cuFFT's
  nvidia-cusolver==12.0.4.66    # cuSOLVER's
  nvidia-cusparse==12.6.3.3     # cuSPARSE's
)

echo "install_cuda: no nvcc here; fetching NVIDIA's CUDA 13.0 compiler into build/cuda"
mkdir -p build
staging=$(mktemp -d build/cuda.XXXXXX)
trap 'rm -rf "$staging"' EXIT
if ! python3 -m pip install --quiet --no-deps --no-warn-conflicts --disable-pip-version-check --root-user-action=ignore \
    --target "$staging" "${wheels[@]}"; then
  echo "install_cuda: the wheels could not be fetched; install the CUDA toolkit 13 by hand, or set WHARF_NO_CUDA=1" >&2
  exit 1
fi
rm -rf "$target"
mv "$staging/nvidia/cu13" "$target"

# The layout nvcc.profile expects, and the names the linker looks for.
mkdir -p "$target/targets/x86_64-linux" "$target/lib/stubs"
ln -sfn lib "$target/lib64"
ln -sfn ../../include "$target/targets/x86_64-linux/include"
ln -sfn ../../lib "$target/targets/x86_64-linux/lib"
for library in "$target"/lib/lib*.so.*; do
  name=$(basename "$library")
  ln -sfn "$name" "$target/lib/${name%%.so.*}.so"
done

# -lcuda: a library with the driver's names and nothing behind them, to link against (the driver itself is no wheel).
grep -oE '\bcu[A-Z][A-Za-z0-9]*(_v[0-9]+)?(_ptsz|_ptds)?\b' "$target/include/cuda.h" | sort -u |
  sed 's/.*/.globl &\n.type &, @function\n&:/' | sed '1i .text' >"$staging/stub.s"
gcc -shared -nostdlib -Wl,-soname,libcuda.so.1 -o "$target/lib/stubs/libcuda.so" "$staging/stub.s"

"$target/bin/nvcc" --version | tail -1
touch "$target/.complete"

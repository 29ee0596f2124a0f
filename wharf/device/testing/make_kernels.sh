#!/bin/sh
# Makes the PTX headers from the CUDA sources beside them: ./make_kernels.sh. Checked in, so that tests and benchmarks
# need no CUDA toolkit. The PTX uses nothing newer than version 7.0 and says so, so that older drivers take it.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}

# make SOURCE HEADER NAMESPACE VARIABLE
make() {
  ptx=$(mktemp)
  "$nvcc" -O3 -std=c++17 -arch=compute_75 -ptx "$1" -o "$ptx"
  {
    echo "// Made from $(basename "$1") by make_kernels.sh: do not edit."
    echo "#pragma once"
    echo
    echo "#include <string_view>"
    echo
    echo "namespace $3 {"
    echo
    echo "// clang-format off"
    echo "inline constexpr std::string_view $4 ="
    sed -e 's/^.version .*/.version 7.0/' -e '/^\/\//d' -e '/^[[:space:]]*$/d' "$ptx" | awk -v limit=8000 '
      { if (n == 0 || n + length($0) > limit) { if (n) print ")PTX\""; printf "R\"PTX("; n = 0 } print; n += length($0) + 1 }
      END { print ")PTX\";" }'
    echo "// clang-format on"
    echo
    echo "}  // namespace $3"
  } > "$2"
  rm "$ptx"
}

make conformance_kernels.cu generated/conformance_kernels_ptx.h wharf::device kConformanceKernels
make texture_kernels.cu generated/texture_kernels_ptx.h wharf::device kTextureKernels
make ../soft/driver/benchmark_kernels.cu ../soft/driver/generated/benchmark_kernels_ptx.h wharf::device::soft kBenchmarkKernels
make ../soft/driver/barrier_kernels.cu ../soft/driver/generated/barrier_kernels_ptx.h wharf::device::soft kBarrierKernels
make ../../offload/testing/random_cuda_kernels.cu ../../offload/testing/generated/random_cuda_kernels_ptx.h wharf::offload kRandomCudaKernels

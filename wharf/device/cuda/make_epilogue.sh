#!/bin/bash
# Makes epilogue_ptx.h from epilogue.cu. Run it after changing the latter; needs nvcc 13. The PTX uses nothing newer than
# version 7.0 and says so, so that older drivers take it.
set -euo pipefail
cd "$(dirname "$0")"
ptx=$(nvcc -std=c++17 -O2 -arch=compute_75 -ptx epilogue.cu -o - | sed -e 's/[[:space:]]*$//' -e 's/^.version .*/.version 7.0/' -e '/^\/\//d' -e '/^$/d')
{
  echo "// Made by make_epilogue.sh from epilogue.cu; do not edit."
  echo "#pragma once"
  echo
  echo "namespace wharf::device::cuda {"
  echo
  echo "// clang-format off"
  echo "inline constexpr char kEpiloguePtx[] = R\"PTX("
  echo "$ptx"
  echo ")PTX\";"
  echo "// clang-format on"
  echo
  echo "}  // namespace wharf::device::cuda"
} >epilogue_ptx.h

#!/bin/bash
# `make test-python`: what the Python package does with PyTorch, in a virtual environment below build/.
#   TORCH=torch            what pip installs; torch==2.11.0 is another (4.5 GB with NVIDIA's libraries)
#   TORCH=debian           Debian's instead: apt-get install python3-torch
#   WHARF_BIN=build/default/bin
set -euo pipefail
cd "$(dirname "$0")/.."
export WHARF_BIN=${WHARF_BIN:-$PWD/build/default/bin}
torch=${TORCH:-torch}
if [[ $torch == debian ]]; then
  exec env PYTHONPATH=python /usr/bin/python3 python/tests/accelerate_test.py
fi
home=build/python/venv-${torch//[^a-z0-9.]/-}
if [[ ! -x $home/bin/python ]]; then python3 -m venv "$home"; fi
"$home/bin/pip" install -q numpy onnx "$torch"
exec env PYTHONPATH=python "$home/bin/python" python/tests/accelerate_test.py

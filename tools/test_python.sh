#!/bin/bash
# `make test-python`: what the Python package does with PyTorch, in a virtual environment below build/ that has the wheel.
#   TORCH=torch            what pip installs; torch==2.11.0 is another (4.5 GB with NVIDIA's libraries)
#   TORCH=debian           Debian's instead, and the package from its sources: apt-get install python3-torch
#   TORCH=none             no PyTorch: the wheel in a new environment with NumPy, one model with a server
#   WHARF_BIN=build/default/bin
set -euo pipefail
cd "$(dirname "$0")/.."
export WHARF_BIN=${WHARF_BIN:-$PWD/build/default/bin}
torch=${TORCH:-torch}
if [[ $torch == debian ]]; then
  exec env PYTHONPATH=python /usr/bin/python3 python/tests/accelerate_test.py
fi
tools/python_wheel.sh
unset PYTHONPATH
home=build/python/venv-${torch//[^a-z0-9.]/-}
if [[ $torch == none ]]; then rm -rf "$home"; fi
if [[ ! -x $home/bin/python ]]; then python3 -m venv "$home"; fi
"$home/bin/pip" install -q numpy
"$home/bin/pip" install -q --no-deps --no-index --force-reinstall build/python/wharf-*-py3-none-any.whl
if [[ $torch == none ]]; then
  unset WHARF_BIN  # the wheel knows where it was built
  exec "$home/bin/python" - <<'EOF'
import sys

import numpy as np
import wharf

assert wharf.__file__.startswith(sys.prefix), wharf.__file__
with wharf.serve(options=["--device", "soft"]) as server, \
     wharf.load("data/ar/lite.onnx", server.address, planner="server-only", slack_ms=1e6) as model:
    y = model(np.zeros(model.inputs[0].shape, model.inputs[0].dtype))
    assert not model.report().alone
    print(f"wharf {wharf.__version__}, Python {sys.version.split()[0]}, NumPy {np.__version__}:", model.report())
EOF
fi
"$home/bin/pip" install -q onnx "$torch"
exec "$home/bin/python" python/tests/accelerate_test.py

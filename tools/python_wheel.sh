#!/bin/bash
# `make python`: the wheel of the Python package, in build/python. Where nothing else says where Wharf's programs are, it
# takes those that are built here, or in WHARF_BIN.
set -euo pipefail
cd "$(dirname "$0")/.."
export WHARF_BIN=${WHARF_BIN:-$PWD/build/default/bin}
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
cp -r python/pyproject.toml python/setup.py python/README.md python/wharf "$source"
mkdir -p build/python
/usr/bin/python3 -m pip wheel -q --no-deps --no-build-isolation --no-index -w build/python "$source"
ls build/python/*.whl

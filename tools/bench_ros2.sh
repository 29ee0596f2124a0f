#!/bin/bash
# `make bench-ros2`; arguments: tools/bench_ros2.py --help.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/ros2_environment.sh
exec "$ros2/bin/python" tools/bench_ros2.py "$@"

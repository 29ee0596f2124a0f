#!/bin/bash
# `make test-ros2`: the ROS 2 node with real topics, in a virtual environment below build/. ROS 2 (Kilted) comes from
# PyPI, 0.3 GB with OpenCV, and wants Python 3.12; hence it is no part of `make test`. What is not on PyPI:
#   VISION_MSGS=FOLDER   that of vision_msgs' package.xml in a checkout: its messages are built, and tested as well
#   launch, launch_ros   the launch file is compiled here, not run
#   PYTHON=python3.12    the interpreter
#   WHARF_BIN=build/default/bin
# Arguments go to the test: names of tests, -v.
set -euo pipefail
cd "$(dirname "$0")/.."
export WHARF_BIN=${WHARF_BIN:-$PWD/build/default/bin} WHARF_PROGRAMS=$PWD/build/default/cuda
source tools/ros2_environment.sh
"$ros2/bin/pip" install -q --no-deps --force-reinstall ./python ./ros2/wharf_detector
if [[ -n ${VISION_MSGS:-} && ! -d $ros2/share/vision_msgs ]]; then
  "$ros2/bin/pip" install -q catkin_pkg ros-kilted-ament-{index-python,package} ros-kilted-rosidl-{core,default}-generators \
    ros-kilted-rosidl-generator-{py,type-description} ros-kilted-rosidl-typesupport-{fastrtps,introspection}-{c,cpp} \
    ros-kilted-ament-cmake{,-core,-ros,-ros-core,-python,-test,-version,-libraries,-gen-version-h,-gtest,-gmock,-pytest} \
    ros-kilted-ament-cmake-{include-directories,target-dependencies,vendor-package} \
    ros-kilted-ament-cmake-export-{definitions,dependencies,include-directories,interfaces,libraries,link-flags,targets}
  # The packages name the folders of the machine that built them.
  include=$("$ros2/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  grep -rl /opt/python/cp312-cp312 "$ros2/share" --include=*.cmake | xargs -r sed -i -e \
    "s#/opt/python/cp312-cp312/include/python3.12#$include#g; s#/opt/python/cp312-cp312/lib#$ros2/lib#g"
  PATH=$ros2/bin:$PATH cmake -S "$VISION_MSGS" -B build/ros2/vision_msgs -DCMAKE_PREFIX_PATH="$ros2" -DBUILD_TESTING=OFF \
    -DCMAKE_INSTALL_PREFIX="$ros2" -DPython3_EXECUTABLE="$ros2/bin/python" -DCMAKE_BUILD_TYPE=Release > /dev/null
  PATH=$ros2/bin:$PATH cmake --build build/ros2/vision_msgs --target install -j 2 > /dev/null
fi
rm -rf python/build python/*.egg-info ros2/wharf_detector/build ros2/wharf_detector/*.egg-info
"$ros2/bin/python" -m py_compile ros2/wharf_detector/launch/detector.launch.py
"$ros2/bin/python" ros2/wharf_detector/test/test_logic.py
exec "$ros2/bin/python" ros2/wharf_detector/test/ros_test.py "$@"

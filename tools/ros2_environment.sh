# Sourced: a virtual environment with ROS 2 of PyPI, build/ros2/venv; $ros2 is its folder.
ros2=$PWD/build/ros2/venv
python=${PYTHON:-python3.12}
if [[ $("$python" -c 'import sys; print(sys.version_info[:2])' 2> /dev/null) != "(3, 12)" ]]; then
  # Perhaps pyenv has it, and another version is chosen.
  python=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python 2> /dev/null | tail -1 || true)
fi
if [[ -z $python ]]; then
  echo "ROS 2 of PyPI wants Python 3.12, and none is here: say where one is, PYTHON=/path/to/python3.12" >&2
  exit 2
fi
if [[ ! -x $ros2/bin/python ]]; then
  mkdir -p build/ros2
  "$python" -m venv "$ros2"
fi
# rclpy does not name a middleware among what it needs.
"$ros2/bin/pip" install -q ros-kilted-rclpy ros-kilted-rmw-fastrtps-cpp ros-kilted-common-interfaces \
  setuptools numpy opencv-python-headless pillow

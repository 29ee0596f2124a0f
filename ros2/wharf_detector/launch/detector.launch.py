"""ros2 launch wharf_detector detector.launch.py image:=/camera/image_raw server:=edge:7070 token_file:=token"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    config = PathJoinSubstitution([FindPackageShare("wharf_detector"), "config", "detector.yaml"])
    arguments = [
        DeclareLaunchArgument("config", default_value=config, description="A file of parameters"),
        DeclareLaunchArgument("image", default_value="/camera/image_raw", description="The topic of pictures"),
        DeclareLaunchArgument("server", default_value="", description="HOST:PORT of wharf serve; empty: none"),
        DeclareLaunchArgument("token_file", default_value="", description="The server's token"),
    ]
    # The node configures and activates itself (its parameter autostart).
    node = LifecycleNode(
        package="wharf_detector", executable="detector", name="wharf_detector", namespace="", output="screen",
        parameters=[LaunchConfiguration("config"),
                    {name: ParameterValue(LaunchConfiguration(name), value_type=str)
                     for name in ("server", "token_file")}],
        remappings=[("image", LaunchConfiguration("image"))])
    return LaunchDescription([*arguments, node])

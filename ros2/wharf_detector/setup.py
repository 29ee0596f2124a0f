from setuptools import setup

setup(
    name="wharf_detector",
    version="0.1.0",
    packages=["wharf_detector"],
    data_files=[("share/ament_index/resource_index/packages", ["resource/wharf_detector"]),
                ("share/wharf_detector", ["package.xml"]),
                ("share/wharf_detector/launch", ["launch/detector.launch.py"]),
                ("share/wharf_detector/config", ["config/detector.yaml"])],
    install_requires=["setuptools", "numpy", "wharf"],
    zip_safe=False,
    description="Detections in a camera's pictures, by a model that this robot and a server compute together",
    entry_points={"console_scripts": ["detector = wharf_detector.node:main"]},
)

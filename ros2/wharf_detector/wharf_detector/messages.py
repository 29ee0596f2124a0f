"""Detections and diagnostics as messages."""

from typing import Any, Callable, Sequence, Tuple

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from .boxes import Box
from .health import Summary

try:
    from vision_msgs.msg import Detection2D, Detection2DArray, ObjectHypothesisWithPose
except ImportError:
    Detection2DArray = None

Maker = Callable[[Header, Sequence[Box], Sequence[str]], Any]  # of a frame's header, boxes, names of classes
_COLOURS = ((1.0, 0.55, 0.0), (0.0, 0.6, 1.0), (0.2, 0.8, 0.2), (0.9, 0.2, 0.5), (0.6, 0.4, 1.0), (0.9, 0.8, 0.1))


def has_vision_msgs() -> bool:
    """Whether they are installed."""
    return Detection2DArray is not None


def type_and_maker(markers: bool) -> Tuple[Any, str, Maker]:
    """The type of message, the topic in the node's name space, and what makes one."""
    return (MarkerArray, "~/markers", as_markers) if markers else (Detection2DArray, "~/detections", as_detections)


def label_of(box: Box, labels: Sequence[str]) -> str:
    """The name of its class, its number where there is none."""
    return labels[box.label] if box.label < len(labels) else str(box.label)


def as_detections(header: Header, boxes: Sequence[Box], labels: Sequence[str]) -> Any:
    """vision_msgs/Detection2DArray: pixels of the picture, best first."""
    array = Detection2DArray(header=header)
    for box in boxes:
        one = Detection2D(header=header)
        one.bbox.center.position.x, one.bbox.center.position.y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        one.bbox.size_x, one.bbox.size_y = box.right - box.left, box.bottom - box.top
        hypothesis = ObjectHypothesisWithPose()
        hypothesis.hypothesis.class_id, hypothesis.hypothesis.score = label_of(box, labels), box.score
        one.results.append(hypothesis)
        array.detections.append(one)
    return array


def as_markers(header: Header, boxes: Sequence[Box], labels: Sequence[str]) -> MarkerArray:
    """A marker that deletes those of the last frame, which has this frame's header, and a rectangle for each box, best
    first: x and y in pixels of the picture, `text` "vehicle 0.87"."""
    array = MarkerArray(markers=[Marker(header=header, action=Marker.DELETEALL)])
    for i, box in enumerate(boxes):
        one = Marker(header=header, ns="wharf_detector", id=i, type=Marker.LINE_STRIP, action=Marker.ADD,
                     text=f"{label_of(box, labels)} {box.score:.2f}")
        one.pose.orientation.w = 1.0
        one.scale.x = 2.0  # the line's width
        one.color.r, one.color.g, one.color.b = _COLOURS[box.label % len(_COLOURS)]
        one.color.a = 1.0
        corners = ((box.left, box.top), (box.right, box.top), (box.right, box.bottom), (box.left, box.bottom))
        one.points = [Point(x=x, y=y) for x, y in (*corners, corners[0])]
        array.markers.append(one)
    return array


def as_diagnostics(stamp: Time, name: str, hardware: str, summary: Summary) -> DiagnosticArray:
    """One status."""
    status = DiagnosticStatus(level=bytes([summary.level]), name=name, message=summary.message, hardware_id=hardware,
                              values=[KeyValue(key=key, value=value) for key, value in summary.values])
    array = DiagnosticArray(status=[status])
    array.header.stamp = stamp
    return array

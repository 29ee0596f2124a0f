"""The ROS 2 node `wharf_detector`: README.md has its topics and parameters."""

import sys
import threading
import time
from typing import Any, List, NamedTuple, Optional

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image

import wharf

from . import boxes, messages
from .health import Frames, Health, age_of
from .inference import Detector, Settings
from .newest import Newest
from .pictures import BadPicture, find_decoder, from_compressed, from_raw

# Name, what it is when nobody says, or its type where that is nothing.
_PARAMETERS = (
    ("model", ""), ("server", ""), ("token_file", ""), ("tls", False), ("tls_pin", ""), ("tls_ca", ""),
    ("tls_cert", ""), ("tls_key", ""), ("planner", "intra-dp"), ("slack_ms", 100.0), ("threads", 0),
    ("allow_half", False), ("allow_jpeg", 0), ("mean", Parameter.Type.DOUBLE_ARRAY),
    ("std", Parameter.Type.DOUBLE_ARRAY),
    ("cache_dir", Parameter.Type.STRING), ("format", ""), ("labels", Parameter.Type.STRING_ARRAY),
    ("keep_aspect", False), ("least_score", 0.35), ("most_overlap", 0.5), ("most_boxes", 100),
    ("image_transport", "raw"), ("reliable", False), ("output", ""), ("retry", 5.0), ("diagnostics_period", 1.0),
    ("autostart", True))
_OF_LOAD = ("token_file", "tls", "tls_pin", "tls_ca", "tls_cert", "tls_key", "planner", "slack_ms", "threads",
            "allow_half", "allow_jpeg", "mean", "std", "cache_dir")


class Frame(NamedTuple):
    """As it came. `since`: time.monotonic()."""
    message: Any
    since: float


class DetectorNode(LifecycleNode):
    """Configured: the model is loaded. Active: frames are answered, by a thread of its own, the newest one next."""

    def __init__(self, **options: Any) -> None:
        super().__init__("wharf_detector", **options)
        for name, value in _PARAMETERS:
            self.declare_parameter(name, value)
        self._detector: Optional[Detector] = None
        self._decoder = find_decoder()
        self._newest: Newest[Frame] = Newest()
        self._before = Frames(0, 0)  # of earlier times of being active
        self._health = Health()
        self._labels: List[str] = []
        self._publisher: Any = None
        self._make: messages.Maker = messages.as_markers
        self._subscription: Any = None
        self._timer: Any = None
        self._worker: Optional[threading.Thread] = None
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)

    # --- Life ---

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Loads the model, which takes seconds where it is new."""
        try:
            settings = self._settings()
            markers = self._wants_markers()
            if self._value("image_transport") not in ("raw", "compressed"):
                raise wharf.InvalidArgument("image_transport is raw or compressed")
            self._detector = Detector(settings, self._say)
        except (wharf.Error, ValueError) as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._labels = list(self._value("labels", []))
        kind, topic, self._make = messages.type_and_maker(markers)
        self._publisher = self.create_lifecycle_publisher(kind, topic, 5)
        self._timer = self.create_timer(self._value("diagnostics_period"), self._diagnose)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Subscribes."""
        activated = super().on_activate(state)
        self._newest = Newest()
        self._worker = threading.Thread(target=self._work, args=(self._newest,), name="wharf_detector")
        self._worker.start()
        compressed = self._value("image_transport") == "compressed"
        topic = self.resolve_topic_name("image") + ("/compressed" if compressed else "")
        # One frame deep: what the middleware holds is the newest one, too.
        reliability = ReliabilityPolicy.RELIABLE if self._value("reliable") else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1, reliability=reliability)
        kind = CompressedImage if compressed else Image
        self._subscription = self.create_subscription(kind, topic, self._received, qos)
        return activated

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The frame that is being computed is answered; one that waits is dropped."""
        self._stop_working()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Closes the model."""
        self._release()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Likewise."""
        self._release()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Back to the beginning."""
        self._release()
        return super().on_error(state)

    def destroy_node(self) -> None:
        """Whatever state it is in."""
        self._release()
        super().destroy_node()

    def _stop_working(self) -> None:
        if self._subscription is not None:
            self.destroy_subscription(self._subscription)
            self._subscription = None
        if self._worker is not None:
            self._newest.close()
            self._worker.join()
            self._worker = None
            self._before = self._frames()
            self._newest = Newest()

    def _release(self) -> None:
        self._stop_working()
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        if self._publisher is not None:
            self.destroy_lifecycle_publisher(self._publisher)
            self._publisher = None
        if self._detector is not None:
            self._detector.close()
            self._detector = None

    # --- Frames ---

    def _received(self, message: Any) -> None:
        self._newest.put(Frame(message, time.monotonic()))

    def _work(self, newest: "Newest[Frame]") -> None:
        while True:
            frame = newest.take()
            if frame is None:
                return
            try:
                self._answer(frame)
            except Exception as error:  # pylint: disable=broad-except  # a frame costs itself, whatever is in it
                if not self.context.ok():
                    return  # Ctrl-C: there is nobody to publish to
                why = str(error) if isinstance(error, (BadPicture, wharf.Error)) else repr(error)
                if self._health.refused(why):
                    self.get_logger().error(f"a frame is not answered: {why}", throttle_duration_sec=1.0)

    def _answer(self, frame: Frame) -> None:
        assert self._detector is not None
        message = frame.message
        if isinstance(message, Image):
            picture = from_raw(message.encoding, message.height, message.width, message.step,
                               bool(message.is_bigendian), message.data)
        else:
            picture = from_compressed(message.format, bytes(message.data), self._decoder)
        found = self._detector.detect(picture)
        # The frame's own header: detections belong to the picture that they were found in.
        self._publisher.publish(self._make(message.header, found.boxes, self._labels))
        stamp = message.header.stamp
        age = age_of(self.get_clock().now().nanoseconds, stamp.sec, stamp.nanosec)
        self._health.answered(age, time.monotonic() - frame.since, found.report)

    # --- What it says ---

    def _frames(self) -> Frames:
        return Frames(self._before.received + self._newest.received, self._before.dropped + self._newest.dropped)

    def _diagnose(self) -> None:
        if self._detector is None or self._worker is None:
            return
        summary = self._health.summary(self._frames(), self._detector.link, self._detector.is_alone)
        name, server = f"{self.get_name()}: detections", self._value("server")
        self._diagnostics.publish(messages.as_diagnostics(self.get_clock().now().to_msg(), name, server, summary))

    def _say(self, good: bool, line: str) -> None:
        if good:
            self.get_logger().info(line)
        else:
            self.get_logger().warning(line)

    # --- Parameters ---

    def _value(self, name: str, otherwise: Any = None) -> Any:
        value = self.get_parameter_or(name, Parameter(name, value=otherwise)).value
        return otherwise if value is None else value

    def _settings(self) -> Settings:
        if not self._value("model"):
            raise wharf.InvalidArgument("the parameter model is the path of an ONNX file, and is not set")
        # What is empty or zero is as if nobody had said it.
        load = {name: self._value(name) for name in _OF_LOAD if self._value(name)}
        load["slack_ms"] = self._value("slack_ms")
        load["cache_dir"] = self._value("cache_dir")  # "" means nowhere
        kind = self._value("format")
        if kind and kind not in boxes.FORMATS:
            raise wharf.InvalidArgument(f'format is one of {", ".join(boxes.FORMATS)}, not "{kind}"')
        options = boxes.Options(self._value("least_score"), self._value("most_overlap"), self._value("most_boxes"))
        return Settings(self._value("model"), self._value("server"), load, kind, self._value("keep_aspect"), options,
                        self._value("retry"))

    def _wants_markers(self) -> bool:
        output = self._value("output")
        if output not in ("", "markers", "vision_msgs"):
            raise wharf.InvalidArgument("output is markers or vision_msgs")
        if output == "vision_msgs" and not messages.has_vision_msgs():
            raise wharf.InvalidArgument("vision_msgs is not installed; without it output is markers")
        return output == "markers" or not messages.has_vision_msgs()


def main() -> int:
    """`ros2 run wharf_detector detector`."""
    rclpy.init()
    node = DetectorNode()
    try:
        if node.get_parameter("autostart").value and (
                node.trigger_configure() != TransitionCallbackReturn.SUCCESS
                or node.trigger_activate() != TransitionCallbackReturn.SUCCESS):
            return 1
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())

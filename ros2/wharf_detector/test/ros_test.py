"""The node with real topics, a real server, and an emulated link between them: `make test-ros2`.

Every picture that is published is another one, and what is found in each is known: computed here, without a server.
"""

import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(SOURCE / one) for one in ("python", "tests/e2e", "ros2/wharf_detector")]
os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)  # apart from whatever else speaks ROS here
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

# pylint: disable=wrong-import-position
import rclpy  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from PIL import Image as PillowImage
from rcl_interfaces.msg import Log
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import CompressedImage, Image
from visualization_msgs.msg import MarkerArray

from town import render
from wharf_detector import inference, messages, pictures
from wharf_detector.health import ERROR, OK
from wharf_fixture import EndToEndTest, Link, children, free_port, wait_until

MODEL = SOURCE / "data" / "ar" / "detector.onnx"
TRACE = SOURCE / "data" / "traces" / "outdoors_a.csv"
LABELS = ["vehicle", "person"]
PERIOD = 0.1  # seconds from picture to picture
RELIABLE = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)
# Of what was said before anybody listened, too.
FROM_THE_BEGINNING = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def stamp_of(header):
    return header.stamp.sec, header.stamp.nanosec


class Robot:
    """What is around the node: it publishes pictures and hears everything."""

    def __init__(self):
        self.node = rclpy.create_node("robot")
        self.sent = {}  # by stamp: the picture's number
        self.answers, self.levels = [], []  # (stamp, frame_id, boxes); (level, message)
        self.log, self.values = [], {}
        self.raw = self.node.create_publisher(Image, "/camera", qos_profile_sensor_data)
        self.reliable = self.node.create_publisher(Image, "/reliable_camera", RELIABLE)
        self.compressed = self.node.create_publisher(CompressedImage, "/camera/compressed", qos_profile_sensor_data)
        self.node.create_subscription(MarkerArray, "/wharf_detector/markers", self._markers, RELIABLE)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnostics, RELIABLE)
        self.node.create_subscription(Log, "/rosout", self._said, FROM_THE_BEGINNING)
        if messages.has_vision_msgs():
            from vision_msgs.msg import Detection2DArray  # pylint: disable=import-outside-toplevel
            self.node.create_subscription(Detection2DArray, "/wharf_detector/detections", self._detections, RELIABLE)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.executor.spin)
        self.thread.start()

    def close(self):
        self.executor.shutdown()
        self.thread.join()
        self.node.destroy_node()

    def _markers(self, message):
        boxes = [(one.points[0].x, one.points[0].y, one.points[2].x, one.points[2].y, one.text)
                 for one in message.markers[1:]]
        self.answers.append((stamp_of(message.markers[0].header), message.markers[0].header.frame_id, boxes))

    def _detections(self, message):
        boxes = []
        for one in message.detections:
            x, y, result = one.bbox.center.position.x, one.bbox.center.position.y, one.results[0].hypothesis
            boxes.append((x - one.bbox.size_x / 2, y - one.bbox.size_y / 2, x + one.bbox.size_x / 2,
                          y + one.bbox.size_y / 2, f"{result.class_id} {result.score:.2f}"))
        self.answers.append((stamp_of(message.header), message.header.frame_id, boxes))

    def _diagnostics(self, message):
        for status in message.status:
            self.levels.append((status.level[0], status.message))
            self.values = {one.key: one.value for one in status.values}

    def _said(self, message):
        if message.name == "wharf_detector":
            self.log.append((message.level, message.msg))

    def said(self, needle):
        return [text for _, text in self.log if needle in text]

    def count(self, key):
        return int(self.values.get(key, "0"))

    def header(self, message, number):
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.header.frame_id = f"camera {number}"
        self.sent[stamp_of(message.header)] = number
        return message

    def send(self, number, picture, publisher=None, encoding="rgb8"):
        height, width = picture.shape[:2]
        message = Image(height=height, width=width, encoding=encoding, step=3 * width)
        message.data.frombytes((picture if encoding == "rgb8" else picture[..., ::-1]).tobytes())
        (publisher or self.raw).publish(self.header(message, number))

    def send_compressed(self, number, data, kind):
        message = CompressedImage(format=kind)
        message.data.frombytes(data)
        self.compressed.publish(self.header(message, number))


class RosTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cache = pathlib.Path(folder.name)
        os.environ["XDG_CACHE_HOME"] = str(cls.cache)
        (cls.cache / "town").mkdir()
        cls.pictures = [picture for picture, _ in render(cls.cache / "town", "0:1990:10")]
        warnings.simplefilter("ignore", RuntimeWarning)  # that a machine was busy while it was measured
        detector = inference.Detector(inference.Settings(str(MODEL), load={"threads": 1}), print)
        cls.expected = [detector.detect(picture).boxes for picture in cls.pictures]
        detector.close()
        # Another picture is another answer: an answer to the wrong one would be seen.
        assert len({str([[round(side) for side in one[:4]] for one in boxes]) for boxes in cls.expected}) > 190
        rclpy.init()
        cls.addClassCleanup(rclpy.try_shutdown)

    def setUp(self):
        super().setUp()
        self.robot = Robot()
        self.addCleanup(self.robot.close)
        self.next = 0

    def start_server(self, *options, **named):
        return self.serve("--cache-dir", self.cache / "server", "--threads", "1", *options, **named)

    def start_node(self, wait=True, topic="/camera", **parameters):
        """A process, as `ros2 run` starts it; waits until it has subscribed."""
        words = ["-p", f"model:={MODEL}", "-p", f"labels:={json.dumps(LABELS)}", "-p", "diagnostics_period:=0.2",
                 "-p", "threads:=1", "-p", "retry:=0.2"]
        for name, value in {"output": "markers", **parameters}.items():
            words += ["-p", f"{name}:={json.dumps(value)}"]
        with (self.folder / "node.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "wharf_detector.node", "--ros-args", *words, "-r", f"image:={topic}"],
                stderr=log, env={**os.environ, "PYTHONPATH": ":".join(sys.path[:3])})
        self.addCleanup(self.check_log)
        self.addCleanup(self.end, self.process)
        if wait:
            wait_until(lambda: any(self.robot.node.count_subscribers(one) for one in (topic, topic + "/compressed")),
                       "the node listens")
            # Discovery is of both directions: the node's answers arrive, too.
            wait_until(lambda: self.robot.values, "diagnostics come")

    def check_log(self):
        """After its end."""
        log = (self.folder / "node.log").read_text()
        print(log, file=sys.stderr)
        self.assertNotIn("Traceback", log)

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        return process.wait(60)

    def picture(self):
        """The next one, and its number."""
        self.next += 1
        return self.next % len(self.pictures), self.pictures[self.next % len(self.pictures)]

    def publish_for(self, seconds, until=lambda: False):
        """At 10 Hz."""
        begin = due = time.monotonic()
        while due < begin + seconds and not until():
            self.robot.send(*self.picture())
            due += PERIOD
            time.sleep(max(0, due - time.monotonic()))

    def publish_until(self, condition, what):
        def send():
            if condition():
                return True
            self.robot.send(*self.picture())
            time.sleep(PERIOD)
            return False
        wait_until(send, what)

    def check_answers(self, tolerance=0.1):
        """Each has the stamp of a picture that was sent and what is in that picture, and none comes twice or late."""
        stamps = [stamp for stamp, _, _ in self.robot.answers]
        self.assertEqual(stamps, sorted(set(stamps)), "an older frame was answered after a newer one")
        for stamp, frame, boxes in self.robot.answers:
            number = self.robot.sent[stamp]  # KeyError: nobody sent it
            self.assertEqual(frame, f"camera {number}")
            expected = self.expected[number]
            self.assertEqual(len(boxes), len(expected), f"picture {number}")
            for box, one in zip(boxes, expected):
                np.testing.assert_allclose(box[:4], one[:4], atol=tolerance)
                self.assertEqual(box[4].split()[0], LABELS[one.label])

    # --- What it answers ---

    def test_over_a_bad_link_with_the_server_killed_and_come_back(self):
        listen = f"127.0.0.1:{free_port('127.0.0.1')}"
        server = self.start_server(listen=listen)
        outages = [word for start in (6, 12) for word in ("--outage", f"{start}s+1s")]
        link = Link(self.folder, server.address, "--trace", TRACE, "--rtt", "2.6ms", *outages)
        self.addCleanup(link.drop)
        self.start_node(server=link.address, planner="server-only")
        self.publish_until(lambda: self.robot.answers, "the first answer")
        self.publish_for(20)
        self.publish_until(lambda: re.search("both [1-9]", self.robot.values.get("computed by", "")), "both compute")
        while_there = len(self.robot.answers)
        server.process.kill()
        self.publish_until(lambda: self.robot.levels[-1] == (1, "this machine detects alone: lost"), "the loss is said")
        self.publish_for(3)
        self.assertGreater(len(self.robot.answers), while_there + 3)
        losses = self.robot.said(" is lost")
        self.start_server(listen=listen)
        self.publish_until(lambda: len(self.robot.said(" is back")) == len(losses), "the server is found again")
        self.publish_until(lambda: self.robot.levels[-1] == (OK, "detecting"), "all is well")
        # Said once each time that it happened, however often that is on a busy machine.
        said = [text for _, text in self.robot.log if " is lost" in text or " is back" in text]
        self.assertEqual([" is lost" in text for text in said], [True, False] * (len(said) // 2), said)
        self.check_answers()
        print(f"\n  {self.next} pictures, {len(self.robot.answers)} answered, "
              f"{self.robot.count('frames dropped for newer ones')} dropped for newer ones; {self.robot.values}",
              file=sys.stderr)

    def test_only_the_newest_of_many_is_answered(self):
        self.start_node(topic="/reliable_camera", reliable=True)
        self.robot.send(*self.picture(), self.robot.reliable)
        wait_until(lambda: self.robot.answers, "an answer")
        [engine] = [pid for pid in children(self.process.pid) if b"wharf-model" in
                    pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(engine, signal.SIGSTOP)  # the next inference takes as long as we like
        try:
            received = 1
            for _ in range(40):
                self.robot.send(*self.picture(), self.robot.reliable)
                received += 1
                # One by one, so that the middleware, which holds the newest one only, loses none.
                wait_until(lambda n=received: self.robot.count("frames received") >= n, "the node has it")
            newest = max(self.robot.sent)
        finally:
            os.kill(engine, signal.SIGCONT)
        wait_until(lambda: self.robot.answers[-1][0] == newest, "the newest one is answered")
        wait_until(lambda: self.robot.count("frames answered") == 3, "everything is counted")
        sent = sorted(self.robot.sent)
        self.assertEqual([stamp for stamp, _, _ in self.robot.answers], [sent[0], sent[1], newest])
        self.assertEqual(self.robot.count("frames dropped for newer ones"), 38)
        self.check_answers()

    def test_begins_without_a_server_and_finds_it(self):
        listen = f"127.0.0.1:{free_port('127.0.0.1')}"
        self.start_node(server=listen, planner="server-only")
        self.publish_until(lambda: self.robot.answers, "an answer of this machine alone")
        self.start_server(listen=listen)
        self.publish_until(lambda: self.robot.said("is there"), "the server is found")
        self.publish_until(lambda: self.robot.levels[-1] == (OK, "detecting"), "all is well")
        self.assertEqual(len(self.robot.said("detects alone")), 1)
        self.check_answers()

    # --- What comes ---

    def test_compressed_and_broken_pictures(self):
        self.start_node(image_transport="compressed")

        def packed(number, kind, **options):
            data = io.BytesIO()
            PillowImage.fromarray(self.pictures[number]).save(data, kind, **options)
            return data.getvalue()

        def send(number, data, kind, answered):
            before = self.robot.count("frames refused"), len(self.robot.answers)
            self.robot.send_compressed(number, data, kind)
            wait_until(lambda: (self.robot.count("frames refused"), len(self.robot.answers)) ==
                       (before[0] + (not answered), before[1] + answered), f"{number} is answered, or refused")
        send(1, packed(1, "PNG"), "rgb8; png compressed bgr8", True)
        self.check_answers()
        whole = packed(2, "JPEG", quality=98)
        for number in (2, 3):
            send(number, whole[:40], "rgb8; jpeg compressed bgr8", False)
        self.assertEqual(len(self.robot.said("are no JPEG or PNG")), 1, "a reason is said once")
        self.assertIn(ERROR, [level for level, _ in self.robot.levels])
        send(4, packed(4, "PNG"), "png", True)
        self.check_answers()
        before = len(self.robot.answers)
        send(2, whole, "jpeg", True)
        self.assertEqual(self.robot.answers[before][1], "camera 2")
        self.assertLessEqual(abs(len(self.robot.answers[before][2]) - len(self.expected[2])), 2)

    def test_a_stamp_before_all_time_costs_nothing(self):
        self.start_node(topic="/reliable_camera", reliable=True)
        number, picture = self.picture()
        height, width = picture.shape[:2]
        message = Image(height=height, width=width, encoding="rgb8", step=3 * width)
        message.data.frombytes(picture.tobytes())
        message.header.stamp.sec = -1
        before = len(self.robot.answers)
        self.robot.reliable.publish(message)
        wait_until(lambda: len(self.robot.answers) > before, "it is answered")
        self.robot.answers.pop()  # nobody sent it
        self.robot.send(number, picture, self.robot.reliable)
        wait_until(lambda: len(self.robot.answers) > before, "so is the next")
        self.check_answers()

    def test_decoders_agree(self):
        data = io.BytesIO()
        PillowImage.fromarray(self.pictures[0]).save(data, "PNG")
        for decoder in (pictures.opencv_decoder(), pictures.pillow_decoder()):
            np.testing.assert_array_equal(decoder(data.getvalue()), self.pictures[0])
        for decoder in (pictures.opencv_decoder(), pictures.pillow_decoder()):
            with self.assertRaises(pictures.BadPicture):
                pictures.from_compressed("jpeg", b"no picture", decoder)

    def test_colours_of_another_order_and_encodings_that_are_none(self):
        self.start_node(topic="/reliable_camera", reliable=True)
        self.robot.send(*self.picture(), self.robot.reliable, "bgr8")
        wait_until(lambda: self.robot.answers, "an answer")
        self.check_answers()
        number, picture = self.picture()
        self.robot.send(number, picture, self.robot.reliable, "bayer_rggb8x")
        wait_until(lambda: self.robot.count("frames refused") == 1, "it is refused")
        wait_until(lambda: self.robot.said("bayer_rggb8x"), "the reason is in the log")  # which comes another way
        self.assertEqual(len(self.robot.said("bayer_rggb8x")), 1)

    # --- Its life ---

    def transition(self, which):
        request = ChangeState.Request(transition=Transition(id=which))
        return self.call(ChangeState, "change_state", request).success

    def state(self):
        return self.call(GetState, "get_state", GetState.Request()).current_state.label

    def call(self, kind, name, request):
        client = self.robot.node.create_client(kind, f"/wharf_detector/{name}")
        self.assertTrue(client.wait_for_service(60))
        future = client.call_async(request)
        wait_until(future.done, f"{name} answers")
        self.robot.node.destroy_client(client)
        return future.result()

    def test_life(self):
        self.start_node(wait=False, autostart=False, topic="/reliable_camera", reliable=True)
        self.assertEqual(self.state(), "unconfigured")
        self.assertEqual(self.robot.node.count_subscribers("/reliable_camera"), 0)
        self.assertTrue(self.transition(Transition.TRANSITION_CONFIGURE))
        self.assertEqual(self.state(), "inactive")
        answered = 0
        for _ in range(2):
            self.assertTrue(self.transition(Transition.TRANSITION_ACTIVATE))
            wait_until(lambda: self.robot.node.count_subscribers("/reliable_camera"), "it listens")
            answered += 1
            self.robot.send(*self.picture(), self.robot.reliable)
            wait_until(lambda: len(self.robot.answers) == answered, "an answer")
            wait_until(lambda: self.robot.count("frames answered") == answered, "it is counted")
            self.assertEqual(self.robot.count("frames received"), answered)
            self.assertTrue(self.transition(Transition.TRANSITION_DEACTIVATE))
            wait_until(lambda: not self.robot.node.count_subscribers("/reliable_camera"), "it listens no more")
        self.check_answers()
        self.assertTrue(self.transition(Transition.TRANSITION_CLEANUP))
        self.assertEqual(self.state(), "unconfigured")
        wait_until(lambda: not [pid for pid in children(self.process.pid) if b"host" in
                                pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()], "the engine has ended")
        self.assertTrue(self.transition(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN))
        self.assertEqual(self.state(), "finalized")
        self.assertEqual(self.end(self.process), 0)

    def test_ends_at_ctrl_c_amid_pictures(self):
        self.start_node()
        self.publish_until(lambda: len(self.robot.answers) > 2, "answers")
        self.process.send_signal(signal.SIGINT)
        self.publish_until(lambda: self.process.poll() is not None, "it ends")
        self.assertEqual(self.process.returncode, 0)

    def test_what_is_configured_wrongly_is_said_in_a_line(self):
        for needle, parameters in (
                ("nowhere.onnx", {"model": "/nowhere.onnx"}), ("is not set", {"model": ""}),
                ("raw or compressed", {"image_transport": "theora"}), ("centers", {"format": "boxes"}),
                ("markers or vision_msgs", {"output": "boxes"}), ("no planner", {"server": "x", "planner": "best"})):
            with self.subTest(needle):
                words = [word for name, value in {"model": str(MODEL), **parameters}.items()
                         for word in ("-p", f"{name}:={json.dumps(value)}")]
                done = subprocess.run([sys.executable, "-m", "wharf_detector.node", "--ros-args", *words],
                                      capture_output=True, text=True, timeout=120,
                                      env={**os.environ, "PYTHONPATH": ":".join(sys.path[:3])}, check=False)
                self.assertEqual(done.returncode, 1)
                lines = [line for line in done.stderr.splitlines() if "[ERROR]" in line]
                self.assertEqual(len(lines), 1, done.stderr)
                self.assertRegex(lines[0], re.escape(needle))
                self.assertNotIn("Traceback", done.stderr)

    @unittest.skipUnless(messages.has_vision_msgs(), "vision_msgs is not installed (tools/test_ros2.sh says how)")
    def test_vision_msgs(self):
        self.start_node(topic="/reliable_camera", reliable=True, output="vision_msgs")
        for _ in range(5):
            before = len(self.robot.answers)
            self.robot.send(*self.picture(), self.robot.reliable)
            wait_until(lambda n=before: len(self.robot.answers) > n, "an answer")
        self.check_answers()

    # --- Where it is installed ---

    def test_installed_as_ament_wants_it(self):
        share = pathlib.Path(sys.prefix) / "share"
        self.assertTrue((share / "ament_index/resource_index/packages/wharf_detector").exists())
        for name in ("package.xml", "launch/detector.launch.py", "config/detector.yaml"):
            self.assertEqual((share / "wharf_detector" / name).read_text(),
                             (SOURCE / "ros2" / "wharf_detector" / name).read_text())
        config = (SOURCE / "ros2" / "wharf_detector" / "config" / "detector.yaml")
        done = subprocess.run([pathlib.Path(sys.prefix) / "bin" / "detector", "--ros-args", "--params-file", config,
                               "-p", "model:=/nowhere.onnx"], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere.onnx", done.stderr)


if __name__ == "__main__":
    unittest.main()

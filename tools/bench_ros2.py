"""`make bench-ros2`: a camera's topic sent to a detector at the server, beside the detector on the robot that has the
server compute. Both over the same emulated Wi-Fi; docs/benchmarks/ros2.md has the figures.

Robot and server are network name spaces of this machine, between them a pair of virtual Ethernet devices. Each end
sends through the kernel's token bucket (tc tbf), whose rate follows a measured trace in steps of 0.1 s; its queue is as
long as `wharf link`'s, and what does not fit into it is lost, as UDP is on Wi-Fi. Wants root and ROS 2
(tools/ros2_environment.sh).
"""

import argparse
import csv
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

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.setdefault("WHARF_BIN", str(SOURCE / "build" / "default" / "bin")))
os.environ.setdefault("WHARF_PROGRAMS", str(SOURCE / "build" / "default" / "cuda"))
sys.path[:0] = [str(SOURCE / one) for one in ("python", "tests/e2e", "ros2/wharf_detector")]

import numpy as np  # noqa: E402  pylint: disable=wrong-import-position

MODEL = SOURCE / "data" / "ar" / "detector.onnx"
ROBOT, EDGE = ("wharf-robot", "10.77.0.1"), ("wharf-edge", "10.77.0.2")
DEVICE = {ROBOT: "wr0", EDGE: "we0"}
STEP = 0.1  # seconds, of a trace
PATIENCE = 120  # seconds, for what starts
AT_SERVER = {"planner": "intra-dp"}  # no server= : it computes everything itself
OFFLOADED = {"server": f"{EDGE[1]}:7070", "planner": "server-only"}
# Within a machine: best effort loses pictures that are larger than Fast DDS's shared memory, 0.5 MB.
HERE = {"reliable": True}

# What the table calls it: where the node is, its parameters, what the camera publishes. Robot and server are as fast
# here, so that the planner of the last one leaves nearly everything to the robot.
SYSTEMS = {
    "raw topic to the server": (EDGE, AT_SERVER, "raw"),
    "raw topic to the server, reliable": (EDGE, {**AT_SERVER, "reliable": True}, "reliable"),
    "JPEG topic to the server": (EDGE, {**AT_SERVER, "image_transport": "compressed"}, "jpeg"),
    "node here, offloaded": (ROBOT, {**OFFLOADED, **HERE}, "reliable"),
    "node here, offloaded as JPEG": (ROBOT, {**OFFLOADED, **HERE, "allow_jpeg": 90}, "reliable"),
    "node here, as its planner likes": (ROBOT, {"server": OFFLOADED["server"], **HERE}, "reliable"),
}


def run(*words):
    subprocess.run([str(word) for word in words], check=True)


def within(space, *words):
    return ["ip", "netns", "exec", space[0], *map(str, words)]


class Link:
    """The two name spaces and what lies between them; the rate is that of the trace once it runs, much before."""

    def __init__(self, mbps):
        self.mbps = mbps
        self.stop = threading.Event()
        self.thread, self.shapers = None, []
        self.remove()
        for space in (ROBOT, EDGE):
            run("ip", "netns", "add", space[0])
        run("ip", "link", "add", DEVICE[ROBOT], "netns", ROBOT[0], "type", "veth",
            "peer", "name", DEVICE[EDGE], "netns", EDGE[0])
        for space in (ROBOT, EDGE):
            run(*within(space, "ip", "address", "add", f"{space[1]}/24", "dev", DEVICE[space]))
            for device in ("lo", DEVICE[space]):
                run(*within(space, "ip", "link", "set", device, "up"))
            run(*within(space, "tc", "qdisc", "add", "dev", DEVICE[space], "root", *self.bucket(1000)))
            self.shapers.append(subprocess.Popen(within(space, "tc", "-batch", "-"), stdin=subprocess.PIPE, text=True))
        for space in (ROBOT, EDGE):
            self.wait_until_up(space)

    @staticmethod
    def wait_until_up(space):
        """The kernel says up to a second late that a device runs. A participant that begins earlier has the loopback
        only, for Fast DDS looks for devices once."""
        deadline = time.monotonic() + PATIENCE
        state = within(space, "cat", f"/sys/class/net/{DEVICE[space]}/operstate")
        while subprocess.run(state, capture_output=True, text=True, check=True).stdout != "up\n":
            if time.monotonic() > deadline:
                raise SystemExit(f"{DEVICE[space]} does not come up")
            time.sleep(0.05)

    @staticmethod
    def bucket(mbps):
        return ["tbf", "rate", f"{round(mbps * 1000)}kbit", "burst", "16kb", "limit", "256kb"]

    def _shape(self, mbps):
        for space, shaper in zip((ROBOT, EDGE), self.shapers):
            shaper.stdin.write(f"qdisc change dev {DEVICE[space]} root {' '.join(self.bucket(mbps))}\n")
            shaper.stdin.flush()

    def begin(self):
        """The trace runs from its beginning."""
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()

    def _follow(self):
        begin = time.monotonic()
        for i, mbps in enumerate(self.mbps):
            self._shape(max(mbps, 0.02))
            if self.stop.wait(max(0, begin + (i + 1) * STEP - time.monotonic())):
                return

    def sent(self, space):
        """Bytes, those that were lost not counted."""
        said = subprocess.run(within(space, "tc", "-s", "qdisc", "show", "dev", DEVICE[space]), capture_output=True,
                              text=True, check=True).stdout
        return int(re.search(r"Sent (\d+) bytes", said).group(1))

    def remove(self):
        self.stop.set()
        if self.thread:
            self.thread.join()
        for shaper in self.shapers:
            shaper.stdin.close()
            shaper.wait()
        for space in (ROBOT, EDGE):
            subprocess.run(["ip", "netns", "delete", space[0]], stderr=subprocess.DEVNULL, check=False)
        self.stop = threading.Event()


def ros(space, by_memory, log, script, *arguments):
    """A process that speaks ROS. `by_memory`: also by shared memory, as it does within a machine, and would between the
    name spaces, too. `log`: a file for what it says of its troubles."""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path[:3]), "ROS_DOMAIN_ID": "42", "ROS_LOG_DIR": "/tmp"}
    if not by_memory:
        environment["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"
    return subprocess.Popen(within(space, sys.executable, *script, *arguments), env=environment, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=log.open("w", encoding="utf-8"), text=True)


def measure(name, trace, options, cache):
    """One row."""
    seconds = options.seconds
    space, parameters, kind = SYSTEMS[name]
    link = Link(trace)
    processes = []
    try:
        os.environ["XDG_CACHE_HOME"] = str(cache)
        if "server" in parameters:
            serve = [BIN / "wharf", "serve", "--listen", OFFLOADED["server"], "--token-file", cache / "token",
                     "--device", "soft", "--sandbox=weak", "--threads", "1", "--cache-dir", cache / "server"]
            parameters = {**parameters, "token_file": str(cache / "token")}
            server = subprocess.Popen(within(EDGE, *serve), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      text=True)
            processes.append(server)
            if " on " not in server.stdout.readline():
                raise SystemExit("the server did not start")
        parameters = {"model": str(MODEL), "threads": 1, "output": "markers", **parameters}
        words = [word for key, value in parameters.items() for word in ("-p", f"{key}:={json.dumps(value)}")]
        here = space == ROBOT
        logs = cache / "node.log", cache / "camera.log"
        processes.append(ros(space, here, logs[0], ["-m", "wharf_detector.node"], "--ros-args", *words,
                             "-r", "image:=/camera"))
        camera = ros(ROBOT, here, logs[1], [__file__, "--camera", kind, "--size", options.size, "--rate", options.rate,
                                            "--seconds", seconds, "--cache", cache])
        processes.append(camera)
        if camera.stdout.readline() != "ready\n":  # the first answers have come
            raise SystemExit(f"{name}: no answers{last_words(logs)}")
        up, down = link.sent(ROBOT), link.sent(EDGE)
        link.begin()
        camera.stdin.write("begin\n")
        camera.stdin.flush()
        said = camera.stdout.readline()
        if not said:
            raise SystemExit(f"{name}: the camera ended{last_words(logs)}")
        row = json.loads(said)
        row["up_mbps"] = (link.sent(ROBOT) - up) * 8e-6 / seconds
        row["down_mbps"] = (link.sent(EDGE) - down) * 8e-6 / seconds
        return row
    finally:
        for process in reversed(processes):
            end(process)
        link.remove()


def last_words(logs):
    return "".join(f"\n{log.name}: {log.read_text(encoding='utf-8')[-2000:]}" for log in logs)


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# --- The camera, which hears the answers as well ---

def camera(kind, options):
    import cv2  # pylint: disable=import-outside-toplevel
    import rclpy  # pylint: disable=import-outside-toplevel
    from rclpy.impl.implementation_singleton import rclpy_implementation  # pylint: disable=import-outside-toplevel
    from rclpy.qos import QoSProfile, ReliabilityPolicy  # pylint: disable=import-outside-toplevel
    from sensor_msgs.msg import CompressedImage, Image  # pylint: disable=import-outside-toplevel
    from visualization_msgs.msg import MarkerArray  # pylint: disable=import-outside-toplevel

    pictures = np.load(pictures_file(options.cache, options.size))
    rclpy.init()
    node = rclpy.create_node("camera")
    latencies = {}  # by stamp, in seconds

    def stamp_of(header):
        return header.stamp.sec * 10**9 + header.stamp.nanosec

    def hear(message):
        stamp = stamp_of(message.markers[0].header)
        latencies[stamp] = (node.get_clock().now().nanoseconds - stamp) / 1e9
    node.create_subscription(MarkerArray, "/wharf_detector/markers", hear,
                             QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE))
    reliability = ReliabilityPolicy.RELIABLE if kind == "reliable" else ReliabilityPolicy.BEST_EFFORT
    publisher = node.create_publisher(*((CompressedImage, "/camera/compressed") if kind == "jpeg" else
                                        (Image, "/camera")), QoSProfile(depth=1, reliability=reliability))
    spinning = threading.Thread(target=rclpy.spin, args=(node,), daemon=True)
    spinning.start()

    def publish(i):
        """Its stamp is of before the robot compresses it."""
        stamp = node.get_clock().now().to_msg()
        picture = pictures[i % len(pictures)]
        if kind == "jpeg":
            message = CompressedImage(format="rgb8; jpeg compressed bgr8")
            _, data = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 90])
            message.data.frombytes(data.tobytes())
        else:
            height, width = picture.shape[:2]
            message = Image(height=height, width=width, encoding="rgb8", step=3 * width)
            message.data.frombytes(picture.tobytes())
        message.header.stamp = stamp
        try:
            publisher.publish(message)
        except rclpy_implementation.RCLError:  # a reliable topic that has waited 0.1 s for its link: a picture is lost
            pass
        return stamp_of(message.header)

    def at_its_rate(seconds, until=lambda: False):
        sent, due = [], time.monotonic()
        for i in range(round(seconds * options.rate)):
            if until():
                break
            sent.append(publish(i))
            due += 1 / options.rate
            time.sleep(max(0, due - time.monotonic()))
        return sent
    at_its_rate(PATIENCE, until=lambda: len(latencies) >= 20)
    if len(latencies) < 20:
        raise SystemExit("no answers")
    print("ready", flush=True)
    sys.stdin.readline()
    sent = at_its_rate(options.seconds)
    time.sleep(2)
    came = np.array([latencies[stamp] for stamp in sent if stamp in latencies]) * 1e3
    median, late, most = np.percentile(came, (50, 95, 100)) if len(came) else (np.nan,) * 3
    print(json.dumps({"sent": len(sent), "answered": len(came), "in_time": int((came <= 100).sum()), "median": median,
                      "late": late, "most": most}), flush=True)
    os._exit(0)


def pictures_file(cache, size):
    return pathlib.Path(cache) / f"{size}.npy"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", action="append", help="of data/traces, more than once (indoors_a, outdoors_a)")
    parser.add_argument("--size", default="896x256", help="of the camera's pictures")
    parser.add_argument("--rate", type=float, default=10, help="pictures a second")
    parser.add_argument("--seconds", type=int, default=60, help="of each row")
    parser.add_argument("--outages", action="store_true", help="nothing passes in the last 2 of every 10 seconds")
    parser.add_argument("--only", default="", help="the rows whose name has this")
    parser.add_argument("--camera", help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.camera:
        camera(options.camera, options)
        return
    from town import render  # pylint: disable=import-outside-toplevel
    with tempfile.TemporaryDirectory() as folder:
        cache = pathlib.Path(folder)
        (cache / "token").write_text("0123456789abcdef" * 4 + "\n")
        (cache / "token").chmod(0o600)
        (cache / "town").mkdir()
        np.save(pictures_file(cache, options.size),
                np.stack([picture for picture, _ in render(cache / "town", "0:594:6", options.size)]))
        for trace in options.trace or ["indoors_a", "outdoors_a"]:
            with open(SOURCE / "data" / "traces" / f"{trace}.csv", encoding="utf-8") as file:
                rows = csv.DictReader(line for line in file if not line.startswith("#"))
                mbps = [float(row["mbps"]) for row in rows][:round(options.seconds / STEP) + 50]
            if options.outages:
                mbps = [0 if i * STEP % 10 >= 8 else one for i, one in enumerate(mbps)]
            mean = np.mean(mbps[:round(options.seconds / STEP)])
            gone = ", nothing in the last 2 s of every 10" if options.outages else ""
            print(f"\n{trace}, its first {options.seconds} s (mean {mean:.0f} Mbit/s{gone}); {options.size} at "
                  f"{options.rate:g} Hz\n")
            print("| | answered | within 100 ms | median | 95 % | most | Mbit/s up | down |\n"
                  "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
            for name in SYSTEMS:
                if options.only in name:
                    row = measure(name, mbps, options, cache)
                    print(f"| {name} | {row['answered'] / row['sent']:.1%} | {row['in_time'] / row['sent']:.1%} | "
                          f"{row['median']:.0f} ms | {row['late']:.0f} ms | {row['most']:.0f} ms | "
                          f"{row['up_mbps']:.1f} | {row['down_mbps']:.1f} |", flush=True)


if __name__ == "__main__":
    main()

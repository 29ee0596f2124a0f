"""wharf.ArClient: depth, pose, boxes, and tasks of the program's own, of every frame of a camera."""

import os
import time
import warnings
from types import TracebackType
from typing import Any, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, Type

import numpy as np

from ._arrays import as_array, text_of
from ._engine import Engine, OptionalPath, server_wish
from ._errors import InvalidArgument
from ._own_task import Functions, OwnTask, has_local, own_task

_TASKS = ("depth", "odometry", "boxes")


class Box(NamedTuple):
    """Around a thing, in pixels of the picture; right and bottom are the first beyond."""
    left: float
    top: float
    right: float
    bottom: float
    kind: str  # "vehicle" or "person"
    score: float


class Pose(NamedTuple):
    """Of the camera, in the axes of where it started: a point p in the camera is at rotation * p + position."""
    position: np.ndarray  # metres
    rotation: np.ndarray  # a unit quaternion: w, x, y, z
    covariance: np.ndarray  # [6, 6]: of the position in the world's axes, then of the orientation in the camera's
    state: str  # "initialising", "good" or "unreliable"
    why: str  # it is not good; "" if it is


class TaskState(NamedTuple):
    """Of one task at a frame."""
    stride: int  # frames since the one of the server's last answer; -1: there is none yet
    offloaded: bool  # this frame was sent to the server for it
    result: Any = None  # of a task of one's own; None: there is none yet
    error: Optional[Exception] = None  # what one of its functions raised in this frame; `result` is then the one before


class ArResult(NamedTuple):
    """What is known of a frame. What no task looks for is None, or empty."""
    depth: Optional[np.ndarray]  # float32 [height, width], of the networks' size: metres along z, 0 where unknown
    pose: Optional[Pose]
    boxes: Tuple[Box, ...]
    tasks: Mapping[str, TaskState]
    connected: bool
    server: str  # where it is, or is trying to get
    lost: str  # why the last connection ended; "" if none has
    standing: str = ""  # with an agreed accuracy: "served", "waiting" for room on a server, or "away" from any


class AgreedReport(NamedTuple):
    """How an agreed accuracy has been kept, by the client's own account: over the frames in which it was served, and
    held against what a server of its own would have given, the reference."""
    sla: float
    within: bool  # it was served, and mean_drop is no more than sla
    mean_drop: float
    drop_rate: float  # of one more frame of stride, now
    mean_stride: float
    reference_stride: float
    network_ms: float  # there and back
    frames: int  # in all: of these it was
    served: int  # by a server's schedule, and had a result
    waiting: int  # for room on a server
    away: int  # without a server
    why_waiting: str  # what a server said last, while it did; "": nothing
    offloads: int  # of which there were
    answered: int
    refused: int
    lost: int
    server: str  # where it is, or is trying to get
    redirects: int  # to other servers
    nowhere: bool  # no server has room

    def __str__(self) -> str:
        if self.served == 0:
            why = f": {self.why_waiting or 'the server has no room'}; a larger sla takes less" if self.waiting else ""
            return f"sla {self.sla:g}, not served in {self.frames} frames{why}"
        return (f"sla {self.sla:g}, mean drop {self.mean_drop:.4f}: {'within' if self.within else 'beyond'}; served in "
                f"{self.served} of {self.frames} frames, stride {self.mean_stride:.1f} (reference "
                f"{self.reference_stride:.1f})")


class ArClient:
    """A camera's side of augmented reality: every frame has a result before the call returns, with a server or without.

        with wharf.ArClient("edge:7072", camera=(500, 500, 320, 240), size=(640, 480), token_file="token") as client:
            for picture, samples in camera:
                result = client(picture, imu=samples)

    server: HOST:PORT of `wharf ar serve`, or "auto": the best that announces itself on this network, proves by the token
    or a certificate who it is, and does the tasks.
    camera: focal lengths and centre in pixels, (fx, fy, cx, cy). size: of its pictures, (width, height).
    tasks: of "depth", "odometry" (the pose) and "boxes". Depth needs odometry, and both need an IMU. None: all; with an
    sla depth, or none beside a task of one's own.
    own_tasks: tasks of one's own by the names under which the server has their models, (tracker, calibration) each: a
    `wharf.Tracker` and the file of `wharf.calibrate`. Their results are in `result.tasks`. With tasks=() pictures may
    have any size up to 4096 by 4096, and travel as they are.
    sla: an agreed accuracy. One task, "depth", "boxes" or one of one's own, is offloaded when the server's schedule for
    all its clients says, and tracked in between, so that the mean accuracy (AbsRel of depth, IoU of boxes, what
    `Tracker.loss` says) stays within `sla`, such as 0.05, of what a server of its own would give; `report()` says how
    that went. None: a plan of its own.
    frames_per_second: of the camera.
    networks: the folder of the device's own network and calibration; None: the one that Wharf brings.
    jpeg_quality: of pictures on the way (1 to 100).
    token, token_file, tls, tls_pin, tls_ca, tls_cert, tls_key: as `wharf.load` has them.

    It connects with the first frame, whose IMU samples say how the camera stands: that call raises wharf.Unavailable
    (no server answers), wharf.NotFound (none that announces itself is fit) or wharf.PermissionDenied (the token is
    wrong), and may be made again. When the server is lost later, this machine tracks on alone and connects again by
    itself. Threads may share it, a frame at a time.
    """

    def __init__(self, server: str, *, camera: Sequence[float], size: Tuple[int, int],
                 tasks: Optional[Sequence[str]] = None, own_tasks: Optional[Mapping[str, OwnTask]] = None,
                 sla: Optional[float] = None, frames_per_second: float = 30, networks: OptionalPath = None,
                 jpeg_quality: int = 90, token: Optional[str] = None, token_file: OptionalPath = None, tls: bool = False,
                 tls_pin: Optional[str] = None, tls_ca: OptionalPath = None, tls_cert: OptionalPath = None,
                 tls_key: OptionalPath = None):
        if tasks is None:
            tasks = _TASKS if sla is None else () if own_tasks else ("depth",)
        if isinstance(tasks, str) or any(task not in _TASKS for task in tasks):
            raise InvalidArgument(f"tasks is a list of {', '.join(_TASKS)}; this is {tasks!r}")
        if len(camera) != 4:
            raise InvalidArgument("camera is (fx, fy, cx, cy), in pixels")
        if len(size) != 2:
            raise InvalidArgument("size is (width, height), in pixels")
        if not 1 <= jpeg_quality <= 100:
            raise InvalidArgument("jpeg_quality is from 1 to 100")
        if sla is not None and not 1e-6 <= sla <= 10:
            raise InvalidArgument("sla is the accuracy drop to agree on: from 1e-6 to 10, such as 0.05")
        own = {name: own_task(name, one) for name, one in (own_tasks or {}).items()}
        fx, fy, cx, cy = map(float, camera)
        self._size = (int(size[1]), int(size[0]), 3)
        self._begun = time.monotonic()
        self._functions = Functions({name: one.tracker for name, one in own.items()})
        request: Dict[str, Any] = {
            "ask": "open_ar", **server_wish(server, token, token_file, tls, tls_pin, tls_ca, tls_cert, tls_key),
            "fx": fx, "fy": fy, "cx": cx, "cy": cy, "width": int(size[0]), "height": int(size[1]),
            "frames_per_s": float(frames_per_second), "jpeg_quality": int(jpeg_quality),
            "networks": _absolute(networks), "sla": None if sla is None else float(sla),
            "own_tasks": [{"name": name, "calibration": _absolute(one.calibration), "local": has_local(one.tracker)}
                          for name, one in own.items()],
            **{task: task in tasks for task in _TASKS}}
        self._engine = Engine(functions=self._functions)
        try:
            opened = self._engine.ask(request)["opened"]
        except BaseException:
            self._engine.close()
            raise
        memory = self._engine.memory
        assert memory is not None
        if own:
            self._functions.see(memory, opened)
        shape = opened["height"], opened["width"]
        self._picture = np.frombuffer(memory, np.uint8, int(np.prod(self._size))).reshape(self._size)
        self._depth = np.frombuffer(memory, np.float32, shape[0] * shape[1], opened["depth"]).reshape(shape)

    def __call__(self, picture: Any, *, imu: Any = (), time_s: Optional[float] = None) -> ArResult:
        """What is known of this frame, now. Waits for no server but at the first, and for the functions of tasks of
        one's own, which it calls. What these raise is in `result.tasks`, and a RuntimeWarning says so, once.

        picture: uint8 [height, width, 3], red first. imu: [n, 7], since the frame before: time, angular velocity (x, y,
        z; rad/s), specific force (m/s², 9.81 upwards at rest), in the camera's axes (x right, y down, z forward).
        time_s: when the frame was taken, by the IMU's clock; None: now, for clients without an IMU.
        """
        pixels = as_array(picture)
        if pixels.dtype != np.uint8 or pixels.shape != self._size:
            raise InvalidArgument(f"a frame is {text_of('uint8', self._size)}; this is "
                                  f"{text_of(pixels.dtype, pixels.shape)}")
        samples = np.asarray(imu, np.float64)
        if samples.size > 0 and (samples.ndim != 2 or samples.shape[1] != 7):
            raise InvalidArgument("imu is [n, 7]: time, angular velocity, specific force")
        if not np.isfinite(samples).all():
            raise InvalidArgument("imu has what is no number")
        if samples.size > 0 and time_s is None:
            raise InvalidArgument("time_s is missing: when the frame was taken, by the IMU's clock")
        with self._engine.lock:
            self._engine.check()
            now = time.monotonic() - self._begun if time_s is None else float(time_s)
            np.copyto(self._picture, pixels)
            self._functions.failures.clear()
            said = self._engine.ask({"ask": "frame", "time_s": now, "imu": samples.ravel().tolist()})["framed"]
            depth = self._depth.copy() if said["depth"] else None
            tasks = {name: self._state(name, one) for name, one in said["tasks"].items()}
            unheard = self._unheard()
        for line in unheard:
            warnings.warn(line, RuntimeWarning, stacklevel=2)
        return ArResult(depth, _pose(said["pose"]), tuple(Box(*one) for one in said["boxes"]), tasks, said["connected"],
                        said["server"], said["lost"], said["standing"])

    def report(self) -> AgreedReport:
        """How the agreed accuracy has been kept so far."""
        return AgreedReport(**self._engine.ask({"ask": "report"})["report"])

    def _state(self, name: str, said: Dict[str, Any]) -> TaskState:
        failure = self._functions.failures.get(name)
        return TaskState(said["stride"], said["offloaded"], self._functions.result(said.get("result")),
                         None if failure is None else failure.error)

    def _unheard(self) -> List[str]:
        """Of the frame's failures those that are of a new kind."""
        lines = []
        for name, failure in self._functions.failures.items():
            kind = (name, failure.function, type(failure.error))
            if kind not in self._functions.said:
                self._functions.said.add(kind)
                lines.append(f"wharf: the task {name}: {failure}; the result before stays")
        return lines

    def close(self) -> None:
        """Says goodbye to the server and ends the process that computes. Results stay. Idempotent."""
        self._engine.close()

    def __enter__(self) -> "ArClient":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a wharf.ArClient cannot be pickled or copied: it is a session with a server")


def _absolute(file: OptionalPath) -> str:
    return os.path.abspath(os.fspath(file)) if file else ""


def _pose(about: Optional[Dict[str, Any]]) -> Optional[Pose]:
    if about is None:
        return None
    return Pose(np.array(about["position"]), np.array(about["rotation"]),
                np.array(about["covariance"]).reshape(6, 6), about["state"], about["why"])

"""wharf.ArClient: depth, pose and boxes of every frame of a camera."""

import os
import threading
import time
from types import TracebackType
from typing import Any, Dict, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, Type, Union

import numpy as np

from ._arrays import as_array, text_of
from ._engine import Engine
from ._errors import InvalidArgument

OptionalPath = Union[str, "os.PathLike[str]", None]

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


class ArResult(NamedTuple):
    """What is known of a frame. What no task looks for is None, or empty."""
    depth: Optional[np.ndarray]  # float32 [height, width], of the networks' size: metres along z, 0 where unknown
    pose: Optional[Pose]
    boxes: Tuple[Box, ...]
    tasks: Mapping[str, TaskState]
    connected: bool
    server: str  # where it is, or is trying to get
    lost: str  # why the last connection ended; "" if none has


class ArClient:
    """A camera's side of augmented reality: every frame has a result before the call returns, with a server or without.

        with wharf.ArClient("edge:7072", camera=(500, 500, 320, 240), size=(640, 480), token_file="token") as client:
            for picture, samples in camera:
                result = client(picture, imu=samples)

    server: HOST:PORT of `wharf ar serve`.
    camera: focal lengths and centre in pixels, (fx, fy, cx, cy). size: of its pictures, (width, height).
    tasks: of "depth", "odometry" (the pose) and "boxes". Depth needs odometry, and both need an IMU.
    frames_per_second: of the camera.
    networks: the folder of the device's own network and calibration; None: the one that Wharf brings.
    jpeg_quality: of pictures on the way (1 to 100).
    token, token_file, tls, tls_pin, tls_ca, tls_cert, tls_key: as `wharf.load` has them.

    It connects with the first frame, whose IMU samples say how the camera stands: that call raises wharf.Unavailable
    (no server answers) or wharf.PermissionDenied (the token is wrong), and may be made again. When the server is lost
    later, this machine tracks on alone and connects again by itself. Threads may share it, a frame at a time.
    """

    def __init__(self, server: str, *, camera: Sequence[float], size: Tuple[int, int],
                 tasks: Sequence[str] = _TASKS, frames_per_second: float = 30, networks: OptionalPath = None,
                 jpeg_quality: int = 90, token: Optional[str] = None, token_file: OptionalPath = None, tls: bool = False,
                 tls_pin: Optional[str] = None, tls_ca: OptionalPath = None, tls_cert: OptionalPath = None,
                 tls_key: OptionalPath = None):
        if isinstance(tasks, str) or any(task not in _TASKS for task in tasks):
            raise InvalidArgument(f"tasks is a list of {', '.join(_TASKS)}; this is {tasks!r}")
        if len(camera) != 4:
            raise InvalidArgument("camera is (fx, fy, cx, cy), in pixels")
        if len(size) != 2:
            raise InvalidArgument("size is (width, height), in pixels")
        if not 1 <= jpeg_quality <= 100:
            raise InvalidArgument("jpeg_quality is from 1 to 100")

        def absolute(file: OptionalPath) -> str:
            return os.path.abspath(os.fspath(file)) if file else ""

        fx, fy, cx, cy = map(float, camera)
        self._size = (int(size[1]), int(size[0]), 3)
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        request: Dict[str, Any] = {
            "ask": "open_ar", "server": server, "token": token or "", "token_file": absolute(token_file),
            "tls": bool(tls), "tls_ca": absolute(tls_ca), "tls_pin": tls_pin or "",
            "tls_certificate": absolute(tls_cert), "tls_key": absolute(tls_key), "fx": fx, "fy": fy, "cx": cx, "cy": cy,
            "width": int(size[0]), "height": int(size[1]), "frames_per_s": float(frames_per_second),
            "jpeg_quality": int(jpeg_quality), "networks": absolute(networks), **{task: task in tasks for task in _TASKS}}
        self._engine = Engine()
        try:
            opened = self._engine.ask(request)["opened"]
        except BaseException:
            self._engine.close()
            raise
        memory = self._engine.memory
        assert memory is not None
        shape = opened["height"], opened["width"]
        self._picture = np.frombuffer(memory, np.uint8, int(np.prod(self._size))).reshape(self._size)
        self._depth = np.frombuffer(memory, np.float32, shape[0] * shape[1], opened["depth"]).reshape(shape)

    def __call__(self, picture: Any, *, imu: Any = (), time_s: Optional[float] = None) -> ArResult:
        """What is known of this frame, now. Waits for no server but at the first.

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
        with self._lock:
            self._engine.check()
            now = time.monotonic() - self._begun if time_s is None else float(time_s)
            np.copyto(self._picture, pixels)
            said = self._engine.ask({"ask": "frame", "time_s": now, "imu": samples.ravel().tolist()})["framed"]
            depth = self._depth.copy() if said["depth"] else None
        return ArResult(depth, _pose(said["pose"]), tuple(Box(*one) for one in said["boxes"]),
                        {name: TaskState(**one) for name, one in said["tasks"].items()}, said["connected"],
                        said["server"], said["lost"])

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


def _pose(about: Optional[Dict[str, Any]]) -> Optional[Pose]:
    if about is None:
        return None
    return Pose(np.array(about["position"]), np.array(about["rotation"]),
                np.array(about["covariance"]).reshape(6, 6), about["state"], about["why"])

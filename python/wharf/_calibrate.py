"""wharf.calibrate: what a tracker loses by the stride."""

import itertools
import os
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import as_array, text_of
from ._engine import Engine, OptionalPath, server_wish
from ._errors import Error, InvalidArgument
from ._own_task import Functions, check_tracker, has_local

Video = Union[str, "os.PathLike[str]", Iterable[Any]]


class Loss(NamedTuple):
    """At one stride, on average over the videos."""
    stride: int  # frames since the one of the server's answer
    samples: int
    tracked: float  # by the tracker
    curve: float  # as the calibration has it
    held: float  # by leaving the old answer as it is


class Calibration(NamedTuple):
    """What calibration videos say of a task. `print` gives a table, `save` the file that `wharf.ArClient` takes."""
    task: str
    rate: float  # the tracker is taken to lose rate * stride ** exponent
    exponent: float
    offload_ms: float  # from sending a frame to its answer: the median
    local_drop: Optional[float]  # what the local algorithm loses, where there is one
    losses: Tuple[Loss, ...]
    # How far the curve is from what a video lost that it was not fitted to, as a share of that; of several videos only.
    held_out_error: Optional[float]
    frames: int  # of all videos
    asked: int  # of these the server was asked for so many,
    refused: int  # and so many times there was no answer, or `read` gave none
    json: str  # of the file
    text: str  # the table

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.json)


class _Pictures:
    """Videos whose pictures the program gives."""

    def __init__(self, size: Optional[Sequence[int]]):
        self.size = None if size is None else (int(size[0]), int(size[1]))
        self.place: Optional[np.ndarray] = None
        self._videos: Dict[int, Iterator[Any]] = {}

    def add(self, number: int, video: Iterable[Any]) -> None:
        pictures = iter(video)
        first = next(pictures, None)
        if first is None:
            raise InvalidArgument(f"video {number} has no pictures")
        shape = as_array(first).shape
        if len(shape) != 3:
            raise InvalidArgument(f"a picture is [height, width, 3]; this is {list(shape)}")
        if self.size is None:
            self.size = (shape[1], shape[0])
        if self.size != (shape[1], shape[0]):
            raise InvalidArgument(f"video {number} has pictures of {shape[1]} x {shape[0]}, not of {self.size[0]} x "
                                  f"{self.size[1]}: only those of files are resized")
        self._videos[number] = itertools.chain((first,), pictures)

    def next(self, video: int) -> bool:
        """Puts the next picture where the engine reads it; False: there is none."""
        picture = next(self._videos[video], None)
        if picture is None:
            return False
        assert self.place is not None
        pixels = as_array(picture)
        if pixels.dtype != np.uint8 or pixels.shape != self.place.shape:
            raise InvalidArgument(f"a picture is {text_of('uint8', self.place.shape)}; this is "
                                  f"{text_of(pixels.dtype, pixels.shape)}")
        np.copyto(self.place, pixels)
        return True


def calibrate(server: str, task: str, tracker: Any, videos: Iterable[Video], *,
              size: Optional[Tuple[int, int]] = None, frames_per_second: float = 30,
              strides: Sequence[int] = (1, 2, 4, 8, 16, 32), every: int = 16, latency_frames: int = 4,
              jpeg_quality: int = 90, source: Optional[str] = None, token: Optional[str] = None,
              token_file: OptionalPath = None, tls: bool = False, tls_pin: Optional[str] = None,
              tls_ca: OptionalPath = None, tls_cert: OptionalPath = None, tls_key: OptionalPath = None) -> Calibration:
    """Learns from videos how much a task's tracker loses by the stride, the number of frames since that of the server's
    last answer. There need be no truth: what the server's model says of a frame is what a tracked result is held
    against.

        report = wharf.calibrate("edge:7072", "free_space", FreeSpace(), ["street-0", "street-1"], size=(448, 128))
        print(report)
        report.save("free_space.json")

    server: HOST:PORT of `wharf ar serve --task TASK=MODEL.onnx`. tracker: a `wharf.Tracker`, or what has its functions.
    videos: of each the path of a file, or of a folder of pictures (with imu.csv where the tracker looks at that); or
    pictures, uint8 [height, width, 3], red first, from any iterable.
    size: what pictures of files are resized to, (width, height): what the client's will be. With built-in tasks beside
    yours that is (448, 128). None: as they are.
    frames_per_second: of pictures from iterables.
    strides, every: what is measured: tracking that starts at every so many frames, at these strides.
    latency_frames: in a client an answer comes so many frames after its frame; the tracker catches up in one step.
    source: what the videos are, for people; None: the names of the files.
    jpeg_quality, token, token_file, tls, tls_pin, tls_ca, tls_cert, tls_key: as `wharf.ArClient` has them.

    What a function of the tracker raises ends it and comes out of this call as it is.
    """
    if isinstance(videos, (str, os.PathLike)):
        raise InvalidArgument("videos is a list: of paths, or of iterables of pictures")
    pictures = _Pictures(size)
    paths: List[str] = []
    for number, video in enumerate(videos):
        if isinstance(video, (str, os.PathLike)):
            paths.append(os.path.abspath(os.fspath(video)))
        else:
            pictures.add(number, video)
            paths.append("")
    named = ", ".join(os.path.basename(path) for path in paths if path)
    functions = Functions({task: check_tracker(tracker)}, pictures.next)
    width, height = pictures.size or (0, 0)
    engine = Engine(functions=functions)
    try:
        opened = engine.ask({
            "ask": "open_calibration", "task": task, "local": has_local(tracker), "videos": paths, "width": width,
            "height": height, "frames_per_s": float(frames_per_second), "strides": [int(one) for one in strides],
            "every": int(every), "latency_frames": int(latency_frames), "jpeg_quality": int(jpeg_quality),
            "source": named if source is None else source,
            **server_wish(server, token, token_file, tls, tls_pin, tls_ca, tls_cert, tls_key)})["opened"]
        memory = engine.memory
        assert memory is not None
        functions.see(memory, opened)
        pictures.place = np.ndarray((opened["height"], opened["width"], 3), np.uint8, memory)
        try:
            said = engine.ask({"ask": "calibrate"})["calibrated"]
        except Error:
            for failure in functions.failures.values():
                raise failure.error from None
            raise
    finally:
        engine.close()
    said["losses"] = tuple(Loss(*one) for one in said["losses"])
    return Calibration(task=task, **said)

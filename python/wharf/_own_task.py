"""AR tasks of a program's own: what it brings, and how the process that schedules calls that."""

import dataclasses
import mmap
import os
import traceback
from typing import Any, Callable, Dict, Generic, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple, TypeVar

import numpy as np

from ._arrays import DTYPES
from ._engine import OptionalPath
from ._errors import InvalidArgument

Result = TypeVar("Result")

_FUNCTIONS = ("read", "track", "loss")
_MOST_LOSS = 1e9
_MOST_LINE = 500  # characters, of what is said of an error


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """Of a camera, as it travels to the server: where a client has built-in tasks, too, of the networks' size (448 by
    128), else as it was given."""
    index: int
    time_s: float
    picture: np.ndarray  # uint8 [height, width, 3], red first; a copy of its own
    imu: np.ndarray  # float64 [n, 7], since the frame before: time, angular velocity, specific force


class Tracker(Generic[Result]):
    """What a program knows of an AR task of its own: how to read what its model says, how to carry that on from frame
    to frame, and how much is lost by doing so. To be derived from; any object with these functions will do.

        class Held(wharf.Tracker):
            def read(self, outputs, frame):
                return outputs[0]

            def track(self, result, from_frame, to_frame):
                return result

            def loss(self, tracked, fresh):
                return np.abs(tracked - fresh).mean()

    A result is any object but None, which says that there is none: then the result before stays. It must not be
    changed once it was returned, because it may be tracked from again; arrays are made read-only. Functions are called
    while the program waits for `client(picture)` or `wharf.calibrate`, by the thread that waits, and cannot use that
    client.
    """

    def read(self, outputs: List[np.ndarray], frame: Frame) -> Optional[Result]:
        """What the model says of `frame`. `outputs`: in the model's order, arrays of their own; what is in them comes
        from a server and is yours to check."""
        raise NotImplementedError

    def track(self, result: Result, from_frame: Frame, to_frame: Frame) -> Optional[Result]:
        """`result`, which is of `from_frame`, carried on to `to_frame`: mostly the next; where an answer of the server
        has just come, some frames later. It has to be done within a frame."""
        raise NotImplementedError

    def loss(self, tracked: Result, fresh: Result) -> float:
        """What is lost where `tracked` is shown instead of `fresh`, which is what the model says of the same frame:
        from 0, nothing, to 1, all. The client minimises the sum of all tasks'."""
        raise NotImplementedError

    local: Optional[Callable[[Frame], Optional[Result]]] = None
    """A function local(frame), where this machine can find a worse result by itself: it is used where it is estimated
    to lose less than tracking."""


class OwnTask(NamedTuple):
    """A tracker, and the file that `wharf.calibrate` gave for it; None: nothing is known of what it loses yet."""
    tracker: Any
    calibration: OptionalPath = None


def own_task(name: str, given: Any) -> OwnTask:
    """Checked: an OwnTask, or a tuple of the same."""
    if not isinstance(given, tuple) or not 1 <= len(given) <= 2:
        raise InvalidArgument(f"own_tasks[{name!r}] is (tracker, calibration), or wharf.OwnTask(tracker, calibration)")
    return OwnTask(check_tracker(given[0]), *given[1:])


def check_tracker(tracker: Any) -> Any:
    """It. Raises if it is none."""
    for function in _FUNCTIONS:
        if not callable(getattr(tracker, function, None)):
            raise InvalidArgument(f"a tracker has the functions read, track and loss; {type(tracker).__name__} has no "
                                  f"{function}")
    return tracker


def has_local(tracker: Any) -> bool:
    """Whether it has a local algorithm."""
    return getattr(tracker, "local", None) is not None


class Failure(NamedTuple):
    """An exception of a function of the program's."""
    function: str
    error: Exception

    def __str__(self) -> str:
        places = traceback.extract_tb(self.error.__traceback__)
        place = f" ({os.path.basename(places[-1].filename)}:{places[-1].lineno})" if places else ""
        try:
            text = " ".join(str(self.error).split())
        except Exception:  # pylint: disable=broad-exception-caught  # it cannot even say what it is
            text = "?"
        line = f"{self.function} raised {type(self.error).__name__}: {text}{place}"[:_MOST_LINE]
        return "".join(letter if letter.isprintable() else "?" for letter in line)


class Functions:
    """What the engine may call. Not thread-safe: it is called while a request is waited for, under the engine's lock.

    Results stay here, under numbers, which is what the engine knows of them."""

    def __init__(self, trackers: Mapping[str, Any], next_picture: Optional[Callable[[int], bool]] = None):
        """`next_picture`: of a video, put where the input is; False: it has ended."""
        self._trackers = dict(trackers)
        self._next_picture = next_picture
        self._results: Dict[int, Any] = {}
        self._last = 0
        self._memory: Optional[mmap.mmap] = None
        self._shape: Tuple[int, int, int] = (0, 0, 3)
        self._layout: Dict[str, int] = {}
        self._frames: Dict[int, Tuple[int, Frame]] = {}  # by slot: a serial number, and what it is of
        self.failures: Dict[str, Failure] = {}  # by task, the first since they were taken away
        self.said: Set[Tuple[str, str, type]] = set()

    def see(self, memory: mmap.mmap, opened: Dict[str, Any]) -> None:
        """Where frames and outputs lie."""
        self._memory = memory
        self._shape = (opened["height"], opened["width"], 3)
        self._layout = opened["frames"]

    def result(self, number: Optional[int]) -> Any:
        """The one of this number; None for None."""
        return None if number is None else self._results[number]

    def drop(self, numbers: Iterable[int]) -> None:
        """Nobody will ask for these."""
        for number in numbers:
            self._results.pop(number, None)

    def call(self, call: Dict[str, Any]) -> Dict[str, Any]:
        """What is to be said of what a function gives. What it raises is kept; but for what is no Exception, Ctrl-C
        say, which goes through."""
        try:
            return self._call(call["function"], call)
        except Exception as error:  # pylint: disable=broad-exception-caught  # whatever a program raises
            failure = Failure(call["function"], error)
            self.failures.setdefault(call.get("task", ""), failure)
            return {"error": str(failure)}

    def _call(self, function: str, call: Dict[str, Any]) -> Dict[str, Any]:
        if function == "next":
            assert self._next_picture is not None
            return {"result": 0} if self._next_picture(call["video"]) else {}
        tracker = self._trackers[call["task"]]
        if function == "read":
            return self._keep(tracker.read([self._array(one) for one in call["outputs"]], self._frame(call["frame"])))
        if function == "track":
            return self._keep(tracker.track(self._results[call["result"]], self._frame(call["from"]),
                                            self._frame(call["to"])))
        if function == "local":
            return self._keep(tracker.local(self._frame(call["frame"])))
        return {"loss": _number(tracker.loss(self._results[call["tracked"]], self._results[call["fresh"]]))}

    def _keep(self, result: Any) -> Dict[str, Any]:
        if result is None:
            return {}
        if isinstance(result, np.ndarray):
            result.setflags(write=False)
        self._last += 1
        self._results[self._last] = result
        return {"result": self._last}

    # What a program is given it may keep, and trackers do: a crop to look for, corners to follow. So it gets copies; a
    # view of memory that is written to again would change under it.

    def _array(self, about: Dict[str, Any]) -> np.ndarray:
        return self._view(DTYPES[about["element"]], tuple(about["shape"]), about["offset"]).copy()

    def _frame(self, about: Dict[str, Any]) -> Frame:
        slot = about["slot"]
        serial, frame = self._frames.get(slot, (0, None))
        if frame is None or serial != about["serial"]:
            place = self._layout["first_slot"] + slot * self._layout["slot_bytes"]
            frame = Frame(about["index"], about["time_s"],
                          self._view(np.dtype(np.uint8), self._shape, place + self._layout["picture"]).copy(),
                          self._view(np.dtype(np.float64), (about["samples"], 7), place + self._layout["imu"]).copy())
            self._frames[slot] = (about["serial"], frame)
        return frame

    def _view(self, dtype: np.dtype, shape: Tuple[int, ...], offset: int) -> np.ndarray:
        assert self._memory is not None
        return np.ndarray(shape, dtype, self._memory, offset)


def _number(loss: Any) -> float:
    if isinstance(loss, (str, bytes)):
        raise TypeError(f"loss gave {loss!r}: it is a number")
    value = float(loss)
    if not 0 <= value <= _MOST_LOSS:
        raise ValueError(f"loss gave {value:g}: it is from 0, nothing is lost, to 1, all is")
    return value

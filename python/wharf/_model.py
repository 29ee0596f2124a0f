"""wharf.load and the model it gives."""

import asyncio
import concurrent.futures
import ctypes
import os
import warnings
import weakref
from collections import deque
from types import TracebackType
from typing import (Any, Callable, Deque, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, Type,
                    TypeVar, Union)

import numpy as np

from ._arrays import DTYPES, ONNX_NAMES, as_array, text_of
from ._engine import Engine, OptionalPath, Progress, server_wish
from ._errors import InvalidArgument

T = TypeVar("T")
Outputs = Union[np.ndarray, Tuple[np.ndarray, ...]]


class Tensor(NamedTuple):
    """An input or output of a model."""
    name: str
    dtype: np.dtype
    shape: Tuple[int, ...]

    @property
    def type(self) -> str:
        """As ONNX Runtime says it: "tensor(float)"."""
        return f"tensor({ONNX_NAMES.get(self.dtype.name, self.dtype.name)})"

    def __str__(self) -> str:
        return f"{self.name}: {text_of(self.dtype, self.shape)}"


class Operator(NamedTuple):
    """How much of an operator's output each side computed: rows of an image's height, tokens; some of both sides'."""
    name: str
    rows: int
    device_rows: int
    server_rows: int


class Report(NamedTuple):
    """Of one inference. Milliseconds in which each was busy; they overlap, so their sum is not the time it took."""
    ms: float  # from input to output
    planned_ms: Optional[float]
    alone: bool  # this machine computed everything, by plan or because the server was lost
    lost: str  # why this machine had to finish alone; "" if it had not
    connected: bool  # a server is there
    planning: bool  # better plans are being made
    device_ms: float
    server_ms: float
    up_ms: float
    down_ms: float
    up_bytes: int
    down_bytes: int
    bytes_per_second: float  # of the link, as estimated before
    encoding: str  # how rows travelled
    operators: Tuple[Operator, ...]  # as planned

    def __str__(self) -> str:
        if self.alone:
            return f"{self.ms:.1f} ms, by this machine alone" + (f": {self.lost}" if self.lost else "")
        return (f"{self.ms:.1f} ms, by both: this machine {self.device_ms:.1f} ms, the server {self.server_ms:.1f} ms; "
                f"{self.up_bytes / 1e3:.1f} kB up, {self.down_bytes / 1e3:.1f} kB down")


class Model:
    """A model that this machine and a server compute together; made by `wharf.load`.

    Any number of threads may use it; inferences are done one after the other. It cannot be pickled, and a fork of the
    process has to load it again.
    """

    def __init__(self, engine: Engine, opened: Dict[str, Any], pictures: bool):
        memory = engine.memory
        assert memory is not None
        self._engine = engine
        self._memory = memory
        self._pictures = pictures
        self.inputs: Tuple[Tensor, ...] = tuple(map(_tensor, opened["inputs"]))
        self.outputs: Tuple[Tensor, ...] = tuple(map(_tensor, opened["outputs"]))
        self._input = _view(memory, self.inputs[0], 0)
        self._picture_bytes: int = opened["input_bytes"]
        self._first_slot: int = opened["first_slot"]
        self._slot_bytes: int = opened["slot_bytes"]
        self._offsets: List[int] = [one["offset"] for one in opened["outputs"]]
        # Slots lent to results that the program still holds are not here. The first is never lent: when all others are,
        # results are copied from it.
        self._free: Deque[int] = deque(range(1, opened["slots"]))
        self._connected = True  # when last heard of
        self._executor = concurrent.futures.ThreadPoolExecutor(1, "wharf")  # it has a thread once it is used

    # --- What it is ---

    def get_inputs(self) -> List[Tensor]:
        """As ONNX Runtime's: objects with `name`, `shape` and `type`."""
        return list(self.inputs)

    def get_outputs(self) -> List[Tensor]:
        """As ONNX Runtime's."""
        return list(self.outputs)

    @property
    def connected(self) -> bool:
        """Whether a server is there at the moment."""
        self._connected = bool(self._engine.ask({"ask": "state"})["state"]["connected"])
        return self._connected

    @property
    def last_connected(self) -> bool:
        """The same, as it was after the last inference or when `connected` was asked for: costs nothing."""
        return self._connected

    @property
    def planning(self) -> bool:
        """Whether better plans are still being made; until then simple ones are used."""
        return bool(self._engine.ask({"ask": "state"})["state"]["planning"])

    @property
    def input_buffer(self) -> np.ndarray:
        """The input where the engine reads it: who writes there and gives this array to the model saves a copy.

            model.input_buffer[0] = frame
            y = model(model.input_buffer)

        Threads that share the model share it.
        """
        return self._input

    def __repr__(self) -> str:
        return f"<wharf.Model {', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}>"

    # --- Inferences ---

    def __call__(self, x: Any) -> Outputs:
        """The output for `x`; a tuple of outputs where the model has several.

        `x`: an array of NumPy; a tensor of another framework in the CPU's memory (DLPack); lists. Its element type and
        shape must be the model's. Of a model loaded with `pictures=True` also a picture of bytes and any size, [height,
        width, channels].

        Results lie in shared memory and are not copied, as long as the program holds three or fewer; they stay as they
        are when the model is used again or closed.
        """
        outputs = self._compute(as_array(x), None)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
            run_options: object = None) -> List[np.ndarray]:
        """As ONNX Runtime's: the outputs of these names, None for all. `run_options` is not looked at."""
        del run_options
        name = self.inputs[0].name
        others = [one for one in input_feed if one != name]
        if others or name not in input_feed:
            what = f"no input \"{others[0]}\"; it has" if others else "an input that is not given:"
            raise InvalidArgument(f"the model has {what} \"{name}\"")
        return self._compute(as_array(input_feed[name]), output_names)

    async def call_async(self, x: Any) -> Outputs:
        """`model(x)`, awaited: others of the event loop go on meanwhile."""
        return await self._in_thread(lambda: self(x))

    async def run_async(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
                        run_options: object = None) -> List[np.ndarray]:
        """`run`, awaited."""
        return await self._in_thread(lambda: self.run(output_names, input_feed, run_options))

    def report(self) -> Report:
        """Of the last inference: who computed what, how long it took, how much travelled. Where other threads use the
        model, it may be of theirs. Waits a moment for what the server says."""
        said = self._engine.ask({"ask": "report"})["report"]
        said["operators"] = tuple(Operator(*one) for one in said["operators"])
        said["up_bytes"], said["down_bytes"] = round(said["up_bytes"]), round(said["down_bytes"])
        return Report(**said)

    def _compute(self, array: np.ndarray, names: Optional[Sequence[str]]) -> List[np.ndarray]:
        wanted = self._wanted(names)
        with self._engine.lock:
            self._engine.check()
            request: Dict[str, Any] = {"ask": "run", "slot": self._take_slot()}
            slot = request["slot"]
            try:
                self._put(array, request)
                ran = self._engine.ask(request)["ran"]
                self._connected = ran["connected"]
                results = self._results(slot)
            except BaseException:
                self._give_back(slot)
                raise
        return [results[i] for i in wanted]

    def _wanted(self, names: Optional[Sequence[str]]) -> Sequence[int]:
        known = [one.name for one in self.outputs]
        if not names:
            return range(len(known))
        for name in names:
            if name not in known:
                raise InvalidArgument(f"the model has no output \"{name}\"; it has {', '.join(known)}")
        return [known.index(name) for name in names]

    def _put(self, array: np.ndarray, request: Dict[str, Any]) -> None:
        """To where the engine reads it, unless it is there."""
        expected = self.inputs[0]
        if array.dtype == expected.dtype and array.shape == expected.shape:
            if not _same_memory(array, self._input):
                np.copyto(self._input, array)
        elif self._is_picture(array):
            request["picture"] = array.shape if array.ndim == 3 else (*array.shape, 1)
            place = np.frombuffer(self._memory, np.uint8, array.size).reshape(array.shape)
            np.copyto(place, array)
        else:
            also = "" if not self._pictures else ", or bytes (uint8) of a picture: [height, width, channels]"
            raise InvalidArgument(f"the model's input \"{expected.name}\" is {text_of(expected.dtype, expected.shape)}"
                                  f"{also}; this is {text_of(array.dtype, array.shape)}")

    def _is_picture(self, array: np.ndarray) -> bool:
        if not self._pictures or array.dtype != np.uint8 or array.size == 0:
            return False
        if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3))):
            return False
        if array.size > self._picture_bytes:
            raise InvalidArgument(f"a picture of {array.size} bytes; {self._picture_bytes} are the most")
        return True

    # --- Where results lie ---

    def _take_slot(self) -> int:
        try:
            return self._free.popleft()
        except IndexError:
            return 0

    def _give_back(self, slot: int) -> None:
        if slot != 0:
            self._free.append(slot)

    def _results(self, slot: int) -> List[np.ndarray]:
        """Arrays of the slot's memory, which comes back when the last of them is gone."""
        begin = self._first_slot + slot * self._slot_bytes
        if self._slot_bytes == 0:
            self._give_back(slot)
            return [np.empty(one.shape, one.dtype) for one in self.outputs]
        memory = (ctypes.c_ubyte * self._slot_bytes).from_buffer(self._memory, begin)
        arrays = [_view(memory, one, offset) for one, offset in zip(self.outputs, self._offsets)]
        if slot == 0:
            return [array.copy() for array in arrays]
        weakref.finalize(memory, self._free.append, slot).atexit = False
        return arrays

    # --- Its end ---

    def close(self) -> None:
        """Says goodbye to the server and ends the process that computes. Results stay. Idempotent; a model that nobody
        holds any more is closed by itself."""
        self._engine.close()
        self._executor.shutdown(wait=False)  # what is left in it fails by itself

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    async def __aenter__(self) -> "Model":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a wharf.Model cannot be pickled or copied: it is a session with a server; "
                        "load it again with wharf.load where it is needed")

    async def _in_thread(self, function: Callable[[], T]) -> T:
        self._engine.check()
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)


def _tensor(about: Dict[str, Any]) -> Tensor:
    return Tensor(about["name"], DTYPES[about["element"]], tuple(about["shape"]))


def _view(memory: Any, one: Tensor, offset: int) -> np.ndarray:
    elements = int(np.prod(one.shape, dtype=np.int64))
    if elements == 0:
        return np.empty(one.shape, one.dtype)
    return np.frombuffer(memory, one.dtype, elements, offset).reshape(one.shape)


def _same_memory(array: np.ndarray, other: np.ndarray) -> bool:
    return (array.__array_interface__["data"][0] == other.__array_interface__["data"][0]
            and array.strides == other.strides)


def _shape_text(shape: Union[Sequence[int], Mapping[str, Sequence[int]], None]) -> str:
    """As --shape of `wharf split` has it."""
    if not shape:
        return ""
    if isinstance(shape, Mapping):
        if len(shape) != 1:
            raise InvalidArgument("shape: say one input's")
        [(name, sizes)] = shape.items()
        return f"{name}={','.join(str(int(size)) for size in sizes)}"
    return ",".join(str(int(size)) for size in shape)


def load(model: Any, server: Optional[str] = None, *, token: Optional[str] = None, token_file: OptionalPath = None,
         tls: bool = False, tls_pin: Optional[str] = None, tls_ca: OptionalPath = None, tls_cert: OptionalPath = None,
         tls_key: OptionalPath = None, shape: Union[Sequence[int], Mapping[str, Sequence[int]], None] = None,
         pictures: bool = False, mean: Optional[Sequence[float]] = None, std: Optional[Sequence[float]] = None,
         allow_half: bool = False, allow_jpeg: Optional[int] = None, planner: str = "intra-dp",
         slack_ms: Optional[float] = None, threads: int = 0, cache_dir: OptionalPath = None,
         progress: Optional[Progress] = None) -> Model:
    """Loads a model that this machine and a server compute together.

        with wharf.load("model.onnx", server="edge:7070", token_file="token") as model:
            y = model(x)

    model: the path of an ONNX file, its bytes, or an onnx.ModelProto. It has one input.
    server: HOST:PORT or unix:PATH of `wharf serve`, or "auto": the best that announces itself on this network and
        proves who it is. None: this machine computes alone.
    token, token_file: what the server's --token-file has. Neither: that of WHARF_TOKEN or WHARF_TOKEN_FILE.
    tls: encrypt. tls_pin: trust the certificate of this fingerprint ("sha256:…"); tls_ca: trust this CA instead of the
        system's; tls_cert and tls_key: show a certificate of our own. Each of these means tls=True.
    shape: of the input, where the model leaves dimensions open: (1, 3, 480, 640), or {"input": (1, 3, 480, 640)}.
    pictures: the model takes bytes, as a camera has them, and normalises them itself: a quarter travels. `mean` and
        `std`: of pixels from 0 to 1, by channel; ImageNet's where there are three channels.
    allow_half, allow_jpeg: what may be lost on the way where that is faster: floats rounded to 16 bits; pictures as
        JPEGs of this quality (1 to 100). What travels is exact otherwise.
    planner: who plans, as --mode of `wharf split`.
    slack_ms: how much longer than planned rows are waited for before this machine finishes alone (100).
    threads: of this machine; 0: as many as there are cores.
    cache_dir: where profiles and plans are kept (~/.cache/wharf); "": nowhere.
    progress: hears what takes long and which share of it is done (below 0: not known).

    A model that is new to a machine is measured first, which takes seconds. Raises wharf.NotFound (no such file),
    wharf.InvalidArgument (no model, wrong options), wharf.Unsupported (an operator that Wharf does not have),
    wharf.Unavailable (no server answers), wharf.PermissionDenied (the token is wrong).
    """
    data = _bytes_of(model)
    path = "" if data is not None else os.path.abspath(os.fspath(model))
    if server is None and planner != "intra-dp" and planner != "device-only":
        raise InvalidArgument(f"planner {planner} wants a server")

    if allow_jpeg is not None and not 1 <= allow_jpeg <= 100:
        raise InvalidArgument("allow_jpeg is a quality from 1 to 100")

    request = {"ask": "open", "model": path, "name": "the model" if data is not None else os.fspath(model),
               **server_wish(server or "", token, token_file, tls, tls_pin, tls_ca, tls_cert, tls_key),
               "planner": planner, "input_shape": _shape_text(shape),
               "pictures": bool(pictures), "mean": [float(one) for one in mean or ()],
               "deviation": [float(one) for one in std or ()], "allow_half": bool(allow_half),
               "jpeg_quality": allow_jpeg, "slack_ms": None if slack_ms is None else float(slack_ms),
               "threads": int(threads), "cache_directory": None if cache_dir is None else os.fspath(cache_dir),
               "progress": progress is not None}
    engine = Engine(data)
    try:
        if data is not None:
            request["model"] = engine.path
        opened = engine.ask(request, progress)["opened"]
    except BaseException:
        engine.close()
        raise
    for line in opened["cautions"]:
        warnings.warn(line, RuntimeWarning, stacklevel=2)
    return Model(engine, opened, bool(pictures))


async def load_async(model: Any, server: Optional[str] = None, **options: Any) -> Model:
    """`load`, awaited; the same options.

        async with await wharf.load_async("model.onnx", server="edge:7070") as model:
            y = await model.call_async(x)
    """
    return await asyncio.get_running_loop().run_in_executor(None, lambda: load(model, server, **options))


def _bytes_of(model: Any) -> Optional[bytes]:
    """None: it is a path."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    serialize = getattr(model, "SerializeToString", None)
    return serialize() if serialize is not None else None

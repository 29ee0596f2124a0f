"""Modules of PyTorch that are computed by this machine and a server together; and how they become ONNX."""

import hashlib
import inspect
import io
import os
import tempfile
import warnings
from types import TracebackType
from typing import Any, Dict, Iterator, List, Optional, Tuple, Type

import torch
from torch.utils import _pytree

from ._errors import Closed, EngineDied, Error, InvalidArgument, Unsupported
from ._model import Model, Report, load

_FORMAT = "1"  # of what is hashed and of what is kept under the hash
_MOST_KEPT = 4 << 30  # bytes of exported modules; those not used for longest go
_OPERATOR_SET = 17


class Accelerated(torch.nn.Module):
    """Made by wharf.accelerate."""

    def __init__(self, module: torch.nn.Module, model: Model, example: torch.Tensor, spec: Any):
        super().__init__()
        self.module = module
        self._model = model
        self._example = (example.shape, example.dtype)
        self._spec = spec  # of the module's outputs
        self._said = False
        self.train(False)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        if self._together(inputs, named):
            try:
                return self.compute(inputs[0])
            except (EngineDied, Closed) as error:
                self._say(str(error))
        return self.module(*inputs, **named)

    def compute(self, x: torch.Tensor) -> Any:
        """By this machine and the server, or whoever of them is there; never by the module."""
        results = self._model.run(None, {self._model.inputs[0].name: x.detach().cpu()})
        tensors = [torch.from_numpy(result).to(x.device) for result in results]
        return _pytree.tree_unflatten(tensors, self._spec)

    def report(self) -> Report:
        """Of the last inference that was not the module's own."""
        return self._model.report()

    def close(self) -> None:
        """Ends the session; from then on the module computes by itself."""
        self._said = True
        self._model.close()

    def __enter__(self) -> "Accelerated":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def _together(self, inputs: Tuple[Any, ...], named: Dict[str, Any]) -> bool:
        if self.training:
            return self._say("the module is in training mode")
        x = inputs[0] if len(inputs) == 1 and not named else None
        if not isinstance(x, torch.Tensor) or (x.shape, x.dtype) != self._example:
            shape, dtype = self._example
            return self._say(f"the input is not one tensor of {dtype} and shape {tuple(shape)}, as the example was")
        if x.requires_grad and torch.is_grad_enabled():
            return self._say("a gradient is asked for")
        try:
            if self._model.last_connected or self._model.connected:
                return True
        except (EngineDied, Closed) as error:
            return self._say(str(error))
        return self._say("the server is gone; when it is back, it is used again")

    def _say(self, why: str) -> bool:
        """Once. False."""
        if not self._said:
            self._said = True
            warnings.warn(f"wharf: the module computes by itself: {why}", RuntimeWarning, stacklevel=4)
        return False


class _Flat(torch.nn.Module):
    """A module whose outputs, however they are put together, are a tuple of tensors."""

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        return tuple(_pytree.tree_flatten(self.module(x))[0])


def accelerate(module: torch.nn.Module, example: torch.Tensor, server: str, options: Dict[str, Any]) -> Accelerated:
    if module.training:
        raise InvalidArgument("the module is in training mode: call module.eval() first")
    if not isinstance(example, torch.Tensor):
        raise InvalidArgument("the example is no tensor: modules of one input tensor can be accelerated")
    if not server:
        raise InvalidArgument("say the server: HOST:PORT of wharf serve")
    with torch.no_grad():
        leaves, spec = _pytree.tree_flatten(module(example))
    if not leaves or not all(isinstance(one, torch.Tensor) for one in leaves):
        raise Unsupported("the module's outputs are not all tensors: wrap it in one whose outputs are")
    folder = _folder(options.get("cache_dir"))
    name = _hash(module, example) + ".onnx"
    kept = _read(folder, name)
    for attempt in ([kept] if kept is not None else []) + [None]:
        onnx = attempt if attempt is not None else _export(module, example)
        accelerated = Accelerated(module, load(onnx, server, **options), example, spec)
        difference = _difference(accelerated.compute(example), leaves)
        if difference <= (2e-2 if options.get("allow_half") else 1e-3):
            _keep(folder, name, onnx)
            return accelerated
        accelerated.close()
    raise Error(f"the exported module computes something else (differences of {difference:.2g} of the largest number): "
                "does it depend on more than its input?")


def _difference(outputs: Any, expected: List[torch.Tensor]) -> float:
    """The largest, relative to the largest number of its output; infinity if they are not alike at all."""
    worst = 0.0
    ours = _pytree.tree_flatten(outputs)[0]
    for one, other in zip(ours, expected):
        if one.shape != other.shape or one.dtype != other.dtype:
            return float("inf")
        if other.numel() == 0 or torch.equal(one, other):
            continue
        difference = (one.double() - other.double()).abs().nan_to_num(nan=float("inf")).max().item()
        worst = max(worst, difference / max(other.double().abs().max().item(), 1e-12))
    return worst


# --- Export ---

def _export(module: torch.nn.Module, example: torch.Tensor) -> bytes:
    written = io.BytesIO()
    options: Dict[str, Any] = {"input_names": ["input"], "opset_version": _OPERATOR_SET}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # the newer exporter wants more packages
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(_Flat(module).eval(), (example,), written, **options)
    except Exception as error:
        raise Unsupported(f"PyTorch cannot export this module to ONNX: {_first_line(error)}") from error
    return written.getvalue()


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


# --- What is kept ---

def _folder(cache_dir: Any) -> Optional[str]:
    if cache_dir is None:
        cache_dir = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "wharf")
    return os.path.join(os.fspath(cache_dir), "modules") if os.fspath(cache_dir) else None


def _read(folder: Optional[str], name: str) -> Optional[bytes]:
    if folder is None:
        return None
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    except OSError:
        return None


def _keep(folder: Optional[str], name: str, onnx: bytes) -> None:
    """A disk that is full, or not writable, costs the next export, nothing else."""
    if folder is None:
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, name)
        if os.path.exists(path) and _read(folder, name) == onnx:
            os.utime(path)
            return
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(onnx)
        os.replace(file.name, path)
        kept = sorted((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(folder))
        total = sum(size for _, size, _ in kept)
        for _, size, other in kept[:-1]:
            if total > _MOST_KEPT:
                os.unlink(other)
                total -= size
    except OSError:
        pass


def _hash(module: torch.nn.Module, example: torch.Tensor) -> str:
    """Of all that decides what it computes, as far as that can be seen."""
    digest = hashlib.sha256()
    for part in _parts(module, example):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _parts(module: torch.nn.Module, example: torch.Tensor) -> Iterator[bytes]:
    yield f"{_FORMAT} {torch.__version__} {_OPERATOR_SET} {example.dtype} {tuple(example.shape)}".encode()
    classes = set()
    for name, one in module.named_modules():
        kind = type(one)
        yield f"{name} {kind.__module__}.{kind.__qualname__} {one.extra_repr()}".encode()
        for attribute, value in sorted(vars(one).items()):
            if not attribute.startswith("_") and not isinstance(value, torch.nn.Module):
                yield attribute.encode()
                yield from _bytes(value)
        if kind not in classes and not kind.__module__.startswith("torch."):
            classes.add(kind)
            yield _source(kind)
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        yield name.encode()
        yield from _bytes(tensor)


def _bytes(value: Any) -> Iterator[bytes]:
    """Of an object without a text of its own they are others next time: it is exported again then."""
    if isinstance(value, torch.Tensor):
        yield f"{value.dtype} {tuple(value.shape)}".encode()
        yield value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    else:
        yield repr(value).encode()


def _source(kind: type) -> bytes:
    try:
        return inspect.getsource(kind).encode()
    except (OSError, TypeError):  # typed at a prompt
        codes = [function.__code__ for function in vars(kind).values() if inspect.isfunction(function)]
        return b"".join(code.co_code + repr((code.co_names, code.co_consts)).encode() for code in codes)

"""Tensors of others as NumPy arrays, without a copy where that is possible."""

from typing import Any, Dict, Tuple

import numpy as np

from ._errors import InvalidArgument

# Wharf's names of element types: NumPy's, and ONNX Runtime's.
DTYPES: Dict[str, np.dtype] = {name: np.dtype("bool" if name == "bool" else name)
                               for name in ("float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")}
ONNX_NAMES: Dict[str, str] = {"float32": "float", "float64": "double"}

_CPU, _PINNED = 1, 3  # DLPack's kDLCPU, and kDLCUDAHost: memory that this processor reads


def as_array(value: Any) -> np.ndarray:
    """`value` as an array: a view of an array, of a tensor of any framework (DLPack), of a buffer; a copy of a list."""
    if isinstance(value, np.ndarray):
        return value
    device = getattr(value, "__dlpack_device__", None)
    if device is None:
        return np.asarray(value)
    if int(device()[0]) not in (_CPU, _PINNED):
        raise InvalidArgument("the input lies in a GPU's memory: give a tensor of the CPU, as x.cpu() makes it")
    try:
        return np.from_dlpack(value)
    except (AttributeError, BufferError, TypeError, RuntimeError, ValueError) as error:
        # An older NumPy, or an element type that DLPack does not say.
        try:
            return np.asarray(value)
        except Exception:
            raise InvalidArgument(f"the input cannot be read: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def text_of(dtype: Any, shape: Tuple[int, ...]) -> str:
    """"float32[1,3,224,224]", as all of Wharf says it."""
    return f"{dtype}[{','.join(map(str, shape))}]"

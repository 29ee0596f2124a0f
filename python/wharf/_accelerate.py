"""wharf.accelerate: PyTorch's modules. PyTorch itself is imported when it is called."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def accelerate(module: "torch.nn.Module", example: "torch.Tensor", server: str, **options: Any) -> "torch.nn.Module":
    """A module that computes as `module` does, on inputs like `example`, by this machine and a server together.

        model = wharf.accelerate(model.eval(), example, server="edge:7070", token_file="token")
        y = model(x)                          # as before
        print(model.report())

    The module is exported to ONNX once and kept in ~/.cache/wharf (cache_dir=), by a hash of its classes' source, its
    attributes and weights; what it computes is compared with the module itself before it is used. What later happens to
    the weights is not seen.

    While no server is there the module computes by itself, and a RuntimeWarning says so, once; it does, too, for inputs
    of another shape or type than `example`, in training mode, and where a gradient is asked for. Results have none.

    options: those of wharf.load. It wants PyTorch and, as its exporter does, the package onnx. Raises what wharf.load
    raises, wharf.InvalidArgument for a module in training mode and wharf.Unsupported for one that cannot be exported.
    """
    from . import _torch  # pylint: disable=import-outside-toplevel  # who does not use PyTorch need not have it
    return _torch.accelerate(module, example, server, options)

"""Wharf: models that this machine and a server at the wireless edge compute together.

    import wharf

    with wharf.load("model.onnx", server="edge:7070", token_file="token") as model:
        y = model(x)                          # or model.run(None, {"input": x}), as ONNX Runtime has it
        print(model.report())                 # who computed what, milliseconds, bytes

When the server is gone, this machine goes on alone; when it is back, so are both. docs/python.md is the tutorial.
"""

from ._accelerate import accelerate
from ._ar import AgreedReport, ArClient, ArResult, Box, Pose, TaskState
from ._calibrate import Calibration, Loss, calibrate
from ._errors import (Closed, EngineDied, Error, InvalidArgument, NotFound, PermissionDenied, Unavailable, Unsupported)
from ._model import Model, Operator, Report, Tensor, load, load_async
from ._own_task import Frame, OwnTask, Tracker
from ._serve import Server, serve

__version__ = "0.1.0"
__all__ = ["AgreedReport", "ArClient", "ArResult", "Box", "Calibration", "Closed", "EngineDied", "Error", "Frame",
           "InvalidArgument", "Loss", "Model", "NotFound", "Operator", "OwnTask", "PermissionDenied", "Pose",
           "Report", "Server", "TaskState", "Tensor", "Tracker", "Unavailable", "Unsupported", "accelerate",
           "calibrate", "load", "load_async", "serve"]

"""Where Wharf's programs are, and what they are started with."""

import os
import re
import shutil
from typing import Dict, Iterator

from ._errors import NotFound

_INSTALL = ("Wharf's programs are not here: install Wharf (make build, cmake --install; see docs/install.md) and have "
            "wharf in PATH, or set WHARF_BIN to the folder that it is in")
_DROP_IN = re.compile(r"lib(cudart|cuda|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink)\.so\.[0-9]+$")


def _places() -> Iterator[str]:
    """Folders in which `wharf` may be, in the order in which they count."""
    chosen = os.environ.get("WHARF_BIN", "")
    if chosen:
        yield os.path.dirname(chosen) if os.path.isfile(chosen) else chosen
        return  # who says where it is wants no other
    try:
        from ._built import BIN  # type: ignore[import-not-found]  # of wheels that were built with WHARF_BIN
        yield BIN
    except ImportError:
        pass
    found = shutil.which("wharf")
    if found:
        yield os.path.dirname(os.path.realpath(found))
    # Used from Wharf's source.
    yield os.path.join(os.path.dirname(__file__), "..", "..", "build", "default", "bin")


def _executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def find_wharf() -> str:
    """The path of `wharf`."""
    for place in _places():
        path = os.path.join(place, "wharf")
        if _executable(path):
            return os.path.normpath(path)
    raise NotFound(_INSTALL)


def find_wharf_model() -> str:
    """The path of `wharf-model`, which runs models."""
    folder = os.path.dirname(find_wharf())
    for place in ("wharf-model", "../libexec/wharf/wharf-model"):
        path = os.path.normpath(os.path.join(folder, place))
        if _executable(path):
            return path
    raise NotFound(f"{folder} has wharf but no wharf-model, which runs models: install Wharf completely")


def environment() -> Dict[str, str]:
    """Ours, without the drop-in CUDA libraries: under `wharf run` they are for this program only."""
    variables = dict(os.environ)
    kept = [one for one in re.split("[: ]", variables.get("LD_PRELOAD", "")) if one and not _DROP_IN.search(one)]
    variables.pop("LD_PRELOAD", None)
    if kept:
        variables["LD_PRELOAD"] = ":".join(kept)
    return variables

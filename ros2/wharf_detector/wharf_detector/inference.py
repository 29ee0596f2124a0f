"""The model: device and server compute it together, and this machine alone while no server is there."""

import threading
from types import MappingProxyType
from typing import Any, Callable, List, Mapping, NamedTuple, Optional

import numpy as np
import wharf

from . import boxes as box_formats
from .boxes import Box
from .pictures import fitted

Say = Callable[[bool, str], None]  # whether it is good news, and one line


class Settings(NamedTuple):
    """`server`: "" for none. `load`: what else wharf.load takes. `format`: one of boxes.FORMATS; "": by the shapes of
    the model's outputs. `retry`: seconds between attempts to reach a server that was never there."""
    model: str
    server: str = ""
    load: Mapping[str, Any] = MappingProxyType({})
    format: str = ""
    keep_aspect: bool = False
    options: box_formats.Options = box_formats.Options()
    retry: float = 5.0


class Found(NamedTuple):
    """Of one picture: boxes in its pixels, best first."""
    boxes: List[Box]
    report: wharf.Report


class Detector:
    """One thread at a time uses it. `say` hears when the server is lost and when it is back, once each."""

    def __init__(self, settings: Settings, say: Say):
        """Takes seconds where the model is new to a machine. Raises wharf.Error: what is wrong with model, options or
        token; that no server answers is no reason, and said."""
        self._settings = settings
        self._say = say
        self._stop = threading.Event()
        self._connecting: Optional[threading.Thread] = None
        self._lock = threading.Lock()
        self._next: Optional[wharf.Model] = None  # what the connecting thread has loaded
        self._model = self._open()
        self._connected = self._model_connected()
        try:
            self._height, self._width = self._input_size()
            shapes = [one.shape for one in self._model.outputs]
            self._format = settings.format or box_formats.format_of(shapes)
        except ValueError as error:
            self.close()
            raise wharf.InvalidArgument(f"{settings.model}: {error}") from None

    @property
    def link(self) -> str:
        """In words."""
        if not self._settings.server:
            return "no server wanted"
        if self._connecting is not None:
            return "no server reached yet"
        return "connected" if self._connected else "lost"

    @property
    def is_alone(self) -> bool:
        """Although a server is wanted."""
        return bool(self._settings.server) and (self._connecting is not None or not self._connected)

    def detect(self, picture: np.ndarray) -> Found:
        """`picture`: RGB, uint8 [height, width, 3]. Raises wharf.Error."""
        self._take_next()
        fits, placement = fitted(picture, self._height, self._width, self._settings.keep_aspect)
        try:
            outputs = self._model.run(None, {self._model.inputs[0].name: fits})
        except wharf.EngineDied as error:
            self._say(False, f"{error}; it is")
            self._restart()
            outputs = self._model.run(None, {self._model.inputs[0].name: fits})
        report = self._model.report()
        self._tell_of_link(report)
        found = box_formats.decode(outputs, self._format, self._height, self._width, self._settings.options)
        return Found(box_formats.on_picture(found, placement, *picture.shape[:2]), report)

    def close(self) -> None:
        """Idempotent."""
        self._stop.set()
        if self._connecting is not None:
            self._connecting.join()
            self._connecting = None
        self._take_next()
        self._model.close()

    # --- Loading ---

    def _open(self) -> wharf.Model:
        try:
            return self._load(self._settings.server)
        except wharf.Unavailable as error:
            if not self._settings.server:
                raise
            self._say(False, f"this machine detects alone, and tries again every {self._settings.retry:g} s: {error}")
        model = self._load("")
        self._connecting = threading.Thread(target=self._connect, name="wharf_detector connects", daemon=True)
        self._connecting.start()
        return model

    def _load(self, server: str) -> wharf.Model:
        options = dict(self._settings.load)
        if not server:
            options["planner"] = "device-only"
        # Of bytes: a quarter of the floats travels, and the engine normalises.
        return wharf.load(self._settings.model, server or None, pictures=True, **options)

    def _connect(self) -> None:
        said = ""
        while not self._stop.wait(self._settings.retry):
            try:
                model = self._load(self._settings.server)
            except wharf.Unavailable:
                continue
            except wharf.Error as error:  # the server's configuration may change
                if str(error) != said:
                    self._say(False, str(error))
                said = str(error)
                continue
            with self._lock:
                self._next = model
            return

    def _take_next(self) -> None:
        with self._lock:
            model, self._next = self._next, None
        if model is None:
            return
        self._model.close()
        self._model, self._connecting, self._connected = model, None, True
        if not self._stop.is_set():
            self._say(True, f"the server {self._settings.server} is there")

    def _restart(self) -> None:
        self._model.close()
        if self._connecting is not None:
            self._model = self._load("")
        else:
            self._model = self._open()
            self._connected = self._model_connected()

    # --- What it is like ---

    def _model_connected(self) -> bool:
        return self._connecting is None and bool(self._settings.server)

    def _input_size(self) -> "tuple[int, int]":
        [one] = self._model.inputs
        if len(one.shape) != 4 or one.shape[:2] != (1, 3):
            raise ValueError(f"its input is {one}, and wants to be of one picture: [1, 3, height, width]")
        return one.shape[2], one.shape[3]

    def _tell_of_link(self, report: wharf.Report) -> None:
        if not self._settings.server or self._connecting is not None or report.connected == self._connected:
            return
        self._connected = report.connected
        if report.connected:
            self._say(True, f"the server {self._settings.server} is back")
        else:
            why = f" ({report.lost})" if report.lost else ""
            self._say(False, f"the server {self._settings.server} is lost{why}: this machine detects alone meanwhile")

"""One slot between who receives frames and who computes: the newest frame wins, and nothing queues."""

import threading
from typing import Generic, Optional, TypeVar

T = TypeVar("T")


class Newest(Generic[T]):
    """Any thread may put, one takes. A frame that nobody took before the next came is dropped, and counted."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._frame: Optional[T] = None
        self._closed = False
        self.received = 0
        self.dropped = 0

    def put(self, frame: T) -> None:
        """Never waits. After close(): nobody will take it, it is dropped."""
        with self._changed:
            self.received += 1
            if self._frame is not None or self._closed:
                self.dropped += 1
            if not self._closed:
                self._frame = frame
                self._changed.notify()

    def take(self) -> Optional[T]:
        """Waits for a frame that was not taken yet. None: closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._frame is not None or self._closed)
            frame, self._frame = self._frame, None
            return frame

    def close(self) -> None:
        """Whoever waits gets None, and so does everybody later. A frame that is left is dropped."""
        with self._changed:
            if self._frame is not None:
                self._frame = None
                self.dropped += 1
            self._closed = True
            self._changed.notify_all()

"""What diagnostics say: counts and times since they were last asked for."""

import threading
from typing import List, NamedTuple, Optional, Tuple

import numpy as np
import wharf

OK, WARN, ERROR = range(3)  # as diagnostic_msgs/DiagnosticStatus has them


class Frames(NamedTuple):
    """Of all time."""
    received: int
    dropped: int  # because a newer one came


class Summary(NamedTuple):
    """`values`: key and value, in words."""
    level: int
    message: str
    values: List[Tuple[str, str]]


def age_of(now: int, sec: int, nanosec: int) -> Optional[float]:
    """Seconds since a message's stamp; `now` in nanoseconds. None: the stamp says nothing. It is whatever its publisher
    likes, also less than nothing, which rclpy's Time takes for an error."""
    stamp = sec * 10**9 + nanosec
    return (now - stamp) / 1e9 if stamp > 0 else None


class Health:
    """Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._received = 0  # until the last summary
        self._answered = self._refused = 0
        self._last_refusal = ""
        self._forget()

    def _forget(self) -> None:
        self._ages: List[float] = []
        self._waits: List[float] = []
        self._reports: List[wharf.Report] = []
        self._refused_lately = 0

    def answered(self, age: Optional[float], wait: float, report: wharf.Report) -> None:
        """Seconds until the detections were published: since the picture was taken, None if its stamp does not say;
        since the node got it."""
        with self._lock:
            self._answered += 1
            self._waits.append(wait)
            self._reports.append(report)
            if age is not None:
                self._ages.append(age)

    def refused(self, why: str) -> bool:
        """A frame that was not answered. Whether this is another reason than the last one's."""
        with self._lock:
            self._refused += 1
            self._refused_lately += 1
            news, self._last_refusal = why != self._last_refusal, why
            return news

    def summary(self, frames: Frames, link: str, is_alone: bool) -> Summary:
        """Of the time since the last one; counts are of all time."""
        with self._lock:
            came = frames.received - self._received
            self._received = frames.received
            level, message = self._verdict(came, link, is_alone)
            values = [("link", link), ("frames received", str(frames.received)),
                      ("frames answered", str(self._answered)), ("frames dropped for newer ones", str(frames.dropped)),
                      ("frames refused", str(self._refused)), ("last refusal", self._last_refusal or "none")]
            values += _times("since the picture was taken", self._ages) + _times("in the node", self._waits)
            values += _of_reports(self._reports)
            self._forget()
            return Summary(level, message, values)

    def _verdict(self, came: int, link: str, is_alone: bool) -> Tuple[int, str]:
        if self._refused_lately and not self._waits:
            return ERROR, self._last_refusal
        if self._refused_lately:
            return WARN, self._last_refusal
        if is_alone:
            return WARN, f"this machine detects alone: {link}"
        if came == 0:
            return WARN, "no frames come"
        return OK, "detecting"


def _times(what: str, seconds: List[float]) -> List[Tuple[str, str]]:
    if not seconds:
        return []
    median, late, most = np.percentile(seconds, (50, 95, 100)) * 1e3
    return [(f"ms {what}", f"{median:.1f} median, {late:.1f} 95 %, {most:.1f} most")]


def _of_reports(reports: List[wharf.Report]) -> List[Tuple[str, str]]:
    if not reports:
        return []

    def mean(of: str) -> float:
        return float(np.mean([getattr(one, of) for one in reports]))
    alone, last = sum(one.alone for one in reports), reports[-1]
    return [("computed by", f"both {len(reports) - alone}, this machine alone {alone}"),
            ("inference ms", f"{mean('ms'):.1f}: this machine {mean('device_ms'):.1f}, server {mean('server_ms'):.1f}, "
                             f"up {mean('up_ms'):.1f}, down {mean('down_ms'):.1f}"),
            ("kB a frame", f"{mean('up_bytes') / 1e3:.1f} up, {mean('down_bytes') / 1e3:.1f} down"),
            ("link Mbit/s", f"{last.bytes_per_second * 8e-6:.1f}" if not last.alone else "unknown"),
            ("encoding", last.encoding if not last.alone else "none"),
            ("better plans are being made", "yes" if last.planning else "no")]

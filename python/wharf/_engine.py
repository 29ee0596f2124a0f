"""The process that holds a model (`wharf-model host`), and how it is asked: JSON in packets on a Unix socket; tensors
lie in memory that both processes see. wharf/cli/host/host.h has the answers, request.h the requests."""

import array
import json
import mmap
import os
import signal
import socket
import subprocess
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union

from ._errors import Closed, EngineDied, Error, InvalidArgument, error_of
from ._programs import environment, find_wharf_model

if TYPE_CHECKING:
    from ._own_task import Functions

OptionalPath = Union[str, "os.PathLike[str]", None]

_MOST_REQUEST = 64 << 10
_MOST_ANSWER = 1 << 20
_PATIENCE = 5.0  # seconds, for the process to say goodbye to the server

Progress = Callable[[str, float], None]


class Engine:
    """One process, one model. Thread-safe: one request at a time, in the order in which they come."""

    def __init__(self, model: Optional[bytes] = None, functions: "Optional[Functions]" = None):
        """`model`: the bytes of a model's file, which `path` names then. `functions`: what the engine may call while an
        answer is waited for (wharf/cli/host/caller.h)."""
        self.lock = threading.RLock()
        self._functions = functions
        self._calling = False
        self._next_id = 0
        self._owner = os.getpid()
        self._dead: Optional[Error] = None
        self._memory: Optional[mmap.mmap] = None
        program = find_wharf_model()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        files = [theirs.fileno()]
        # Whatever it says on standard error is for exceptions, unless somebody wants its log.
        self._said = os.memfd_create("wharf-said") if "WHARF_LOG" not in os.environ else -1
        model_file = -1
        try:
            if model is not None:
                model_file = os.memfd_create("wharf-model-file")
                _write_all(model_file, model)
                files.append(model_file)
                self.path = f"/proc/self/fd/{model_file}"
            self._process = subprocess.Popen(
                [program, "host", "--socket", str(theirs.fileno())], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=self._said if self._said >= 0 else None, pass_fds=files,
                env=environment(), start_new_session=True)  # Ctrl-C is for this program, which closes the socket
        except BaseException:
            ours.close()
            if self._said >= 0:
                os.close(self._said)
            raise
        finally:
            theirs.close()
            if model_file >= 0:
                os.close(model_file)
        self._socket = ours
        self._end = weakref.finalize(self, _end, self._owner, ours, self._process, self._said)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def memory(self) -> Optional[mmap.mmap]:
        """What came along with the answer to "open"."""
        return self._memory

    def ask(self, request: Dict[str, Any], progress: Optional[Progress] = None) -> Dict[str, Any]:
        """The answer; raises what the engine says went wrong, or EngineDied."""
        with self.lock:
            self.check()
            self._next_id += 1
            self._send({"id": self._next_id, **request})
            return self._answer(self._next_id, progress)

    def check(self) -> None:
        """Raises if there is nobody to ask."""
        if self._calling:  # by this thread: it holds the lock
            raise Error("a task's functions cannot use the client that calls them")
        if self._dead is not None:
            raise type(self._dead)(str(self._dead))
        if os.getpid() != self._owner:
            raise Closed(f"this model was loaded by process {self._owner}, of which this one is a fork: "
                         "load it again here")

    def close(self) -> None:
        """Says goodbye to the server. Idempotent."""
        with self.lock:
            if self._dead is None:
                self._dead = Closed("this model was closed")
            self._end()

    def _send(self, request: Dict[str, Any]) -> None:
        try:
            packet = json.dumps(request, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidArgument("paths and names must be text in UTF-8") from None
        if len(packet) > _MOST_REQUEST:
            raise InvalidArgument("a path, name or token is too long")
        try:
            self._socket.sendall(packet)
        except OSError:
            raise self._died() from None

    def _call(self, asked: int, call: Dict[str, Any]) -> None:
        assert self._functions is not None
        self._calling = True
        try:
            given = self._functions.call(call)
        finally:
            self._calling = False
        self.check()  # a function may have closed this
        self._send({"id": asked, "ask": "called", **given})

    def _answer(self, wanted: int, progress: Optional[Progress]) -> Dict[str, Any]:
        while True:
            answer = self._receive()
            if self._functions is not None:
                self._functions.drop(answer.get("dropped", ()))
            # Those before it belong to requests that an exception, Ctrl-C's say, has kept from being waited for.
            if answer["id"] not in (wanted, 0):
                continue
            if "error" in answer:
                raise error_of(answer["code"], answer["error"])
            if "call" in answer:
                self._call(wanted, answer["call"])
                continue
            if "progress" not in answer:
                return answer
            if progress is not None:
                progress(answer["progress"], answer["share"])

    def _receive(self) -> Dict[str, Any]:
        try:
            packet, more, _, _ = self._socket.recvmsg(_MOST_ANSWER, socket.CMSG_SPACE(array.array("i").itemsize),
                                                      socket.MSG_CMSG_CLOEXEC)
        except OSError:
            raise self._died() from None
        files = _descriptors(more)
        try:
            if not packet:
                raise self._died()
            answer: Dict[str, Any] = json.loads(packet)
            if "opened" in answer and files:
                self._memory = mmap.mmap(files[0], answer["opened"]["bytes"])
            return answer
        finally:
            for file in files:
                os.close(file)

    def _died(self) -> Error:
        """Remembered, for whoever asks next."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # it has closed its end, and does not end
            self._process.kill()
            code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        said = _last_line(self._said)
        self._dead = EngineDied(f"the process that computes models (wharf-model) has ended by {how}"
                                f"{': ' + said if said else ''}; load the model again")
        return self._dead


def server_wish(server: str, token: Optional[str], token_file: OptionalPath, tls: bool, tls_pin: Optional[str],
                tls_ca: OptionalPath, tls_cert: OptionalPath, tls_key: OptionalPath) -> Dict[str, Any]:
    """How a server is reached, as requests have it."""
    def absolute(file: OptionalPath) -> str:
        return os.path.abspath(os.fspath(file)) if file else ""
    return {"server": server, "token": token or "", "token_file": absolute(token_file), "tls": bool(tls),
            "tls_ca": absolute(tls_ca), "tls_pin": tls_pin or "", "tls_certificate": absolute(tls_cert),
            "tls_key": absolute(tls_key)}


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest):]
    os.lseek(file, 0, os.SEEK_SET)


def _descriptors(more: List[Tuple[int, int, bytes]]) -> List[int]:
    files = array.array("i")
    for level, kind, data in more:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(data[:len(data) - len(data) % files.itemsize])
    return list(files)


def _last_line(file: int) -> str:
    if file < 0:
        return ""
    size = os.fstat(file).st_size
    lines = os.pread(file, 4096, max(0, size - 4096)).decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _end(owner: int, connection: socket.socket, process: "subprocess.Popen[bytes]", said: int) -> None:
    """Of an engine that nobody needs any more; also when the program ends."""
    if os.getpid() == owner:
        try:
            connection.shutdown(socket.SHUT_RDWR)  # a fork of ours may hold the socket, too
        except OSError:
            pass  # it has ended already
    connection.close()
    if os.getpid() == owner:
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if said >= 0:
        os.close(said)

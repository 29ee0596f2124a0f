"""wharf.serve: a server of one's own, for tests and notebooks."""

import os
import re
import shutil
import subprocess
import tempfile
from types import TracebackType
from typing import IO, Optional, Sequence, Type, Union

from ._errors import Error
from ._programs import environment, find_wharf

_PATIENCE = 30.0  # seconds, for sessions to end


class Server:
    """A `wharf serve` process; made by `wharf.serve`. Ends with the `with` block, or by `close`."""

    def __init__(self, process: "subprocess.Popen[str]", address: str, folder: str):
        self.address = address  # for server= of wharf.load
        self._process = process
        self._folder = folder

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def close(self) -> None:
        """Idempotent."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


def serve(listen: Optional[str] = None, *, token_file: Union[str, "os.PathLike[str]", None] = None,
          options: Sequence[str] = ()) -> Server:
    """Starts a server on this machine.

        with wharf.serve() as server, wharf.load("model.onnx", server.address) as model:
            y = model(x)

    listen: HOST:PORT, port 0 for a free one. None: a Unix socket that this user alone can reach, which needs no token.
    options: more of `wharf serve`, as its --help has them. As strong a sandbox as this machine permits is taken, unless
        they say otherwise.
    """
    wharf = find_wharf()
    folder = tempfile.mkdtemp(prefix="wharf-serve-")
    try:
        words = [wharf, "serve", "--listen", listen or f"unix:{folder}/socket", *_sandbox(wharf, options), *options]
        if token_file is not None:
            words += ["--token-file", os.fspath(token_file)]
        with open(os.path.join(folder, "log"), "w+") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                                       env=environment(), start_new_session=True)
            assert process.stdout is not None
            with process.stdout as said:
                line = said.readline()
            match = re.search(r" on (\S+)$", line.strip())
            if match:
                return Server(process, match.group(1), folder)
            process.kill()
            process.wait()
            raise Error(_why(log) or "wharf serve did not start")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _sandbox(wharf: str, options: Sequence[str]) -> Sequence[str]:
    if any(one.startswith("--sandbox") for one in options):
        return ()
    strong = subprocess.run([wharf, "doctor", "--sandbox"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env=environment(), check=False).returncode == 0
    return () if strong else ("--sandbox=weak",)


def _why(log: IO[str]) -> str:
    """The one clear line of a server that did not start."""
    log.seek(0)
    lines = [line.strip() for line in log if line.strip()]
    ours = [line[len("wharf: "):] for line in lines if line.startswith("wharf: ")]
    return (ours or lines or [""])[-1]

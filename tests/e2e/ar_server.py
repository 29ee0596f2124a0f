"""`wharf ar serve` as a process."""

import subprocess

from wharf_fixture import BIN, end_gently, environment, sandbox


class ArServer:
    def __init__(self, folder, name, *options, command=("ar", "serve"), listen="127.0.0.1:0"):
        self.log = folder / f"{name}.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [BIN / "wharf", *command, sandbox(), "--listen", listen, "--largest-batch", "2", *map(str, options)],
                stdout=subprocess.PIPE, stderr=log, text=True, env=environment(folder))
        line = self.process.stdout.readline().strip()
        if " at " not in line:
            raise AssertionError(f"the server did not start: {line!r} {self.log.read_text()}")
        self.address = line.rsplit(" ", 1)[1]

    def said(self, what):
        return self.log.read_text().count(what)

    def stop(self):
        return end_gently(self.process)

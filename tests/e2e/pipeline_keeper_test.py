"""The keeper of a pipeline worker's models, which opens no file itself, is killed: another one finds what was kept."""

import contextlib
import os
import pathlib
import signal
import subprocess
import unittest

from pipeline_fixture import make_plan, start_etcd
from wharf_fixture import BIN, EndToEndTest, children, end_gently, environment, sandbox, strong_sandbox, wait_until


class PipelineKeeperTest(EndToEndTest):
    def start(self, name, *command):
        """A server that says where it is."""
        self.log = self.folder / f"{name}.log"
        with open(self.log, "w") as log:
            process = subprocess.Popen([*map(str, (BIN / "wharf", "pipeline", *command, "--etcd", self.etcd, sandbox()))],
                                       stdout=subprocess.PIPE, stderr=log, text=True, env=environment(self.folder))
        self.addCleanup(end_gently, process)
        self.assertIn(" at ", process.stdout.readline(), self.log.read_text())
        return process

    def give_the_worker_its_model(self, kept):
        """A scheduler comes, and goes when `kept` has happened."""
        scheduler = self.start("serve", "serve", self.plan, "--profiles", self.folder / "lab", "--listen", "127.0.0.1:0")
        result = wait_until(kept, "the scheduler's model is asked for")
        self.assertEqual(end_gently(scheduler), 0)
        return result

    def keeper(self):
        """Of the worker's guard, or of the worker itself."""
        for pid in children(self.worker.pid):
            with contextlib.suppress(OSError):  # it is gone
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "wharf-keeper":
                    return pid
        return None

    @unittest.skipUnless(strong_sandbox(), "without a guard nobody can start another")
    def test_another_keeper_finds_what_was_kept(self):
        self.etcd, self.plan = start_etcd(self), make_plan(self.folder)
        self.worker = self.start("worker", "worker", "--class", "fast=threads:1", "--cache-dir", self.folder / "cache")
        log = self.log
        models = self.folder / "cache" / "models"
        (model,) = self.give_the_worker_its_model(lambda: list(models.glob("*.onnx")))
        inode = model.stat().st_ino
        for count in (1, 2):
            os.utime(model, (1, 1))
            os.kill(wait_until(self.keeper, "there is a keeper"), signal.SIGKILL)
            wait_until(lambda: log.read_text().count("another keeper of models has begun") == count, "another begins")
            # Who reads it makes it the file that was used last. A model that is sent anew is another file.
            self.give_the_worker_its_model(lambda: model.stat().st_mtime > 1)
            self.assertEqual(model.stat().st_ino, inode)
        self.assertEqual(end_gently(self.worker), 0)


if __name__ == "__main__":
    unittest.main()

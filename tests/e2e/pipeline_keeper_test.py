"""The keeper of a pipeline worker's models, which opens no file itself, is killed: another one finds what was kept."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import unittest

from pipeline_fixture import make_plan, start_etcd
from wharf_fixture import BIN, EndToEndTest, children, end_gently, environment, sandbox, strong_sandbox, wait_until


class PipelineKeeperTest(EndToEndTest):
    def start(self, name, *command, confined=sandbox()):
        """A server that says where it is."""
        self.log = self.folder / f"{name}.log"
        with open(self.log, "w") as log:
            process = subprocess.Popen([*map(str, (BIN / "wharf", "pipeline", *command, "--etcd", self.etcd, confined))],
                                       stdout=subprocess.PIPE, stderr=log, text=True, env=environment(self.folder))
        self.addCleanup(end_gently, process)
        line = process.stdout.readline()
        self.assertIn(" at ", line, self.log.read_text())
        self.address = line.split()[-1]
        return process

    def start_worker(self, **confined):
        self.etcd, self.plan = start_etcd(self), make_plan(self.folder)
        self.worker = self.start("worker", "worker", "--class", "fast=threads:1", "--cache-dir", self.folder / "cache",
                                 **confined)

    def give_the_worker_its_model(self, has_happened):
        """A scheduler comes, and goes when `has_happened`."""
        scheduler = self.start("serve", "serve", self.plan, "--profiles", self.folder / "lab", "--listen", "127.0.0.1:0")
        result = wait_until(has_happened, "the worker has its model")
        self.assertEqual(end_gently(scheduler), 0)
        return result

    def keep_the_model(self):
        (model,) = self.give_the_worker_its_model(lambda: list((self.folder / "cache" / "models").glob("*.onnx")))
        return model

    def answers(self):
        """Whether requests get there and back."""
        counts = self.folder / "load.json"
        done = self.command("pipeline", "load", "--server", self.address, "--rate", "5", "--seconds", "1", "--json", counts)
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = json.loads(counts.read_text())
        return counts["on time"] + counts["late"] > 0

    def kill_the_keeper(self):
        os.kill(wait_until(self.keeper, "there is a keeper"), signal.SIGKILL)

    def keeper(self):
        """Of the worker's guard, or of the worker itself."""
        for pid in children(self.worker.pid):
            with contextlib.suppress(OSError):  # it is gone
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "wharf-keeper":
                    return pid
        return None

    @unittest.skipUnless(strong_sandbox(), "without a guard nobody can start another")
    def test_another_keeper_finds_what_was_kept(self):
        self.start_worker()
        log = self.log
        model = self.keep_the_model()
        inode = model.stat().st_ino
        for count in (1, 2):
            os.utime(model, (1, 1))
            self.kill_the_keeper()
            wait_until(lambda: log.read_text().count("another keeper of models has begun") == count, "another begins")
            # Who reads it makes it the file that was used last. A model that is sent anew is another file.
            self.give_the_worker_its_model(lambda: model.stat().st_mtime > 1)
            self.assertEqual(model.stat().st_ino, inode)
        self.assertEqual(end_gently(self.worker), 0)

    def test_without_a_guard_a_model_is_sent_anew(self):
        self.start_worker(confined="--sandbox=weak")
        model = self.keep_the_model()
        os.utime(model, (1, 1))
        self.kill_the_keeper()
        self.give_the_worker_its_model(self.answers)
        self.assertEqual(model.stat().st_mtime, 1)  # it was not read
        self.assertEqual(end_gently(self.worker), 0)


if __name__ == "__main__":
    unittest.main()

"""The quick starts (docs/quickstart) as a newcomer has them: every command of every page, in its order.

A block ```sh runs to its end; one that says ```sh server runs until the page's end. What differs from what the page says:
the folder, the ports, and what this machine permits as a sandbox.
"""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import unittest

from wharf_fixture import BIN, PATIENCE, SANITIZER, SOURCE, EndToEndTest, end_gently, free_port, sandbox, wait_until

PAGES = SOURCE / "docs" / "quickstart"
LONGEST = 60  # lines


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@unittest.skipIf(SANITIZER, "their commands run compilers, which a sanitizer cannot be preloaded into")
class QuickstartTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        for name in ("examples", "data", "wharf"):
            (self.folder / name).symlink_to(SOURCE / name)
        (self.folder / "build").mkdir()
        (self.folder / "build" / "default").symlink_to(BIN.parent)
        nvcc = pathlib.Path(os.environ["WHARF_NVCC"]).parent
        self.environment = {**os.environ, "PATH": f"{BIN}:{nvcc}:{os.environ['PATH']}", "CMAKE_GENERATOR": "Ninja",
                            "XDG_CACHE_HOME": str(self.folder / "cache")}

    def here(self, code, ports):
        for port in set(re.findall(r"localhost:(\d+)", code)):
            ports.setdefault(port, free_port("127.0.0.1"))
            code = code.replace(f"localhost:{port}", f"127.0.0.1:{ports[port]}")
        return re.sub(r"wharf (ar )?serve ", rf"\g<0>{sandbox()} ", code)

    def shell(self, code):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=4 * PATIENCE)
        self.assertEqual(done.returncode, 0, f"{code}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, code, ports):
        with open(self.folder / "server.log", "w") as log:
            process = subprocess.Popen(["bash", "-c", f"exec {code}"], cwd=self.folder, env=self.environment,
                                       stdout=log, stderr=log)
        self.addCleanup(end_gently, process)
        port = next(ours for ours in ports.values() if f":{ours}" in code)
        def ready():
            self.assertIsNone(process.poll(), (self.folder / "server.log").read_text())
            return listens(port)
        wait_until(ready, f"a server listens: {code}")

    def follow(self, page):
        """What the commands printed, in order."""
        text, ports, printed = (PAGES / page).read_text(), {}, ""
        self.assertLessEqual(len(text.splitlines()), LONGEST)
        blocks = re.findall(r"^```(\S*) ?(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        self.assertTrue(blocks)
        for language, role, code in blocks:
            self.assertEqual(language, "sh", code)
            code = self.here(code, ports)
            if role == "server":
                self.start(code.strip(), ports)
            else:
                printed += self.shell(code)
        return printed

    def test_offload(self):
        self.assertEqual(self.follow("offload.md").count("no error: y[0] = 7"), 2)

    def test_split(self):
        self.follow("split.md")
        self.assertTrue((self.folder / "timeline.svg").exists())

    def test_ar(self):
        self.follow("ar.md")
        self.assertTrue((self.folder / "street.png").exists())

    def test_pipeline(self):
        self.assertIn("L4", self.follow("pipeline.md"))
        self.assertTrue((self.folder / "lab" / "timeline.svg").exists())

    def test_build(self):
        self.assertRegex(self.follow("build.md"), r"class \d+ of \d+, score")

    def test_every_page_is_tried_and_linked_from_the_readme(self):
        pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
        tried = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_")}
        self.assertLessEqual(pages, tried)
        linked = set(re.findall(r"docs/quickstart/(\w+)\.md", (SOURCE / "README.md").read_text()))
        self.assertLessEqual(pages, linked)


if __name__ == "__main__":
    unittest.main()

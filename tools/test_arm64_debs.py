"""`make test-arm64-debs`: Debian's packages for ARM64, in a root that has their files, those of the packages that they
depend on, and nothing else but qemu, which runs them; this machine's server is outside.

  tools/test_arm64_debs.py [--keep]

Wants root, and fetches Debian's packages; `make test-debs` has what installing, upgrading and removing do.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BUILD, SERVER = SOURCE / "build" / "arm64", SOURCE / "build" / "default"
os.environ.update(WHARF_BIN=str(SERVER / "bin"), WHARF_PROGRAMS=str(BUILD / "cuda"))
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
from install_test import is_program  # pylint: disable=wrong-import-position
from wharf_fixture import EndToEndTest  # pylint: disable=wrong-import-position

QEMU = "/qemu-aarch64-static"
LOADER = "/lib/ld-linux-aarch64.so.1"
PATIENCE = 1800


def run(*words, **options):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Arm64DebsTest(EndToEndTest):
    keep = False

    @classmethod
    def setUpClass(cls):
        cls.debs = sorted((BUILD / "debs").glob("*_arm64.deb"))
        (SOURCE / "build" / "debs").mkdir(exist_ok=True)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="arm64-", dir=SOURCE / "build" / "debs"))
        if not cls.keep:
            cls.addClassCleanup(shutil.rmtree, folder)
        cls.root = folder / "root"
        run(SOURCE / "tools" / "arm64_root.sh", cls.root, *cls.debs)
        shutil.copy(shutil.which(QEMU[1:]), cls.root)
        for place in ("proc", "dev", "tmp"):
            (cls.root / place).mkdir(exist_ok=True)

    def there(self, *words):
        """What a program of the root says."""
        enter = ("for place in /proc /dev /tmp; do mount --rbind $place \"$0$place\" || exit 125; done; "
                 f"exec chroot \"$0\" {QEMU} \"$@\"")
        return run("unshare", "--mount", "sh", "-c", enter, self.root, *words)

    def programs(self, deb):
        """Those of a package, libraries too, as the root has them."""
        names = re.findall(r"^-\S+ .* \./(\S+)$", run("dpkg-deb", "-c", deb), re.MULTILINE)
        return [name for name in names if is_program(self.root / name)]

    def test_lintian_finds_no_errors(self):
        print(run("lintian", "--allow-root", "--fail-on", "error", *self.debs))

    def test_programs_load_what_their_packages_depend_on(self):
        for deb in self.debs:
            self.assertEqual(run("dpkg-deb", "-f", deb, "Architecture"), "arm64\n")
            print(f"{deb.name} depends on {run('dpkg-deb', '-f', deb, 'Depends')}", end="")
            programs = self.programs(deb)
            self.assertGreater(len(programs), 0)
            for program in programs:
                loaded = self.there(LOADER, "--list", f"/{program}")
                self.assertNotIn("not found", loaded, program)

    def test_a_cuda_program_runs(self):
        server = self.serve()
        self.assertEqual(self.there("/usr/bin/wharf", "--version"), self.command("--version").stdout)
        shutil.copy(BUILD / "cuda" / "looper", self.folder)
        for mode in ("posted", "replay"):
            self.there("/usr/bin/wharf", "run", "--server", server.address, "--mode", mode, "--", QEMU,
                       self.folder / "looper", 3)

    def test_a_model_is_split(self):
        if not any(deb.name.startswith("wharf-models_") for deb in self.debs):
            self.skipTest("make arm64 builds none; make arm64-models does")
        server = self.serve("--cache-dir", self.folder / "server")
        model = shutil.copy(SOURCE / "wharf" / "exec" / "testdata" / "tiny" / "model.onnx", self.folder)
        # Not by `wharf split`, whose own start of this program the kernel would refuse.
        said = self.there("/usr/libexec/wharf/wharf-model", "split", model, "--server", server.address, "--random", "--check",
                          "--mode", "server-only", "--slack", "100s", "--cache-dir", self.folder / "device")
        self.assertIn("0 after the device finished alone", said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="leave the root, in build/debs")
    options, rest = parser.parse_known_args()
    Arm64DebsTest.keep = options.keep
    if os.geteuid() != 0:
        sys.exit("tools/test_arm64_debs.py wants to be root: it goes into a root of Debian")
    if not shutil.which("lintian"):  # only this needs it
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "lintian"], check=True)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()

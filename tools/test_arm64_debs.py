"""`make test-arm64-debs`: Debian's packages for ARM64, in roots that have their files, those of the packages that they
depend on, and nothing else but qemu, which runs them. Devices use this machine's server; what the service would start
there serves programs of this machine and of that root, and models. A C++ project is built against the libraries there.

  tools/test_arm64_debs.py [--keep]

Wants root, and fetches Debian's packages; `make test-debs` has what installing, upgrading and removing do.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BUILD, SERVERS_BUILD, HERE = (SOURCE / "build" / name for name in ("arm64", "arm64-server", "default"))
os.environ.update(WHARF_BIN=str(HERE / "bin"), WHARF_PROGRAMS=str(BUILD / "cuda"))
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
from device_files import is_program  # pylint: disable=wrong-import-position
from wharf_fixture import EndToEndTest, end_gently  # pylint: disable=wrong-import-position

SYSROOT = SOURCE / "build" / "arm64-sysroot"
MODEL = SOURCE / "wharf" / "exec" / "testdata" / "tiny" / "model.onnx"
# In the roots: qemu, which needs no library, and what does for servers what a kernel does and qemu does not.
QEMU, KERNEL = "/qemu-aarch64", "/emulated_kernel.so"
LOADER = "/lib/ld-linux-aarch64.so.1"
PATIENCE = 1800


def run(*words, **options):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def made(build, name="wharf"):
    """The packages of a build whose names begin so."""
    return sorted((build / "debs").glob(f"{name}*_arm64.deb"))


class InARoot(EndToEndTest):
    keep = False
    debs = []

    @classmethod
    def setUpClass(cls):
        (SOURCE / "build" / "debs").mkdir(exist_ok=True)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="arm64-", dir=SOURCE / "build" / "debs"))
        if not cls.keep:
            cls.addClassCleanup(shutil.rmtree, folder)
        cls.root = folder / "root"
        run(SOURCE / "tools" / "arm64_root.sh", cls.root, *cls.debs)
        shutil.copy(SOURCE / "build" / "arm64-qemu" / "usr" / "bin" / QEMU[1:], cls.root)
        for place in ("proc", "dev", "tmp"):
            (cls.root / place).mkdir(exist_ok=True)

    def entering(self, *words):
        """A command line: a program of the root, begun by qemu's options."""
        enter = ("for place in /proc /dev /tmp; do mount --rbind $place \"$0$place\" || exit 125; done; "
                 f"exec chroot \"$0\" {QEMU} \"$@\"")
        return [*map(str, ("unshare", "--mount", "sh", "-c", enter, self.root, *words))]

    def there(self, *words):
        """What a program of the root says."""
        return run(*self.entering(*words))

    def programs(self, deb):
        """Those of a package, libraries too, as the root has them."""
        names = re.findall(r"^-\S+ .* \./(\S+)$", run("dpkg-deb", "-c", deb), re.MULTILINE)
        return [name for name in names if is_program(self.root / name)]

    def check_what_programs_load(self):
        for deb in self.debs:
            self.assertEqual(run("dpkg-deb", "-f", deb, "Architecture"), "arm64\n")
            size = int(run("dpkg-deb", "-f", deb, "Installed-Size")) / 1000
            print(f"{deb.name}: {deb.stat().st_size / 1e6:.1f} MB, installed {size:.1f} MB, depends on "
                  f"{run('dpkg-deb', '-f', deb, 'Depends')}", end="")
            programs = self.programs(deb)
            self.assertGreater(len(programs), 0)
            for program in programs:
                loaded = self.there(LOADER, "--list", f"/{program}")
                self.assertNotIn("not found", loaded, program)


class DeviceDebsTest(InARoot):
    debs = made(BUILD)

    @classmethod
    def setUpClass(cls):
        if not cls.debs:
            raise unittest.SkipTest("make arm64 builds what devices need")
        super().setUpClass()

    def test_lintian_finds_no_errors(self):
        print(run("lintian", "--allow-root", "--fail-on", "error", *self.debs))

    def test_programs_load_what_their_packages_depend_on(self):
        self.check_what_programs_load()

    def test_a_cuda_program_runs(self):
        server = self.serve()
        self.assertEqual(self.there("/usr/bin/wharf", "--version"), self.command("--version").stdout)
        shutil.copy(BUILD / "cuda" / "looper", self.folder)
        for mode in ("posted", "replay"):
            self.there("/usr/bin/wharf", "run", "--server", server.address, "--mode", mode, "--", QEMU,
                       self.folder / "looper", 3)

    def test_a_model_is_split(self):
        if not made(BUILD, "wharf-models"):
            self.skipTest("make arm64 builds none; make arm64-models does")
        server = self.serve("--cache-dir", self.folder / "server")
        model = shutil.copy(MODEL, self.folder)
        # Not by `wharf split`, whose own start of this program the kernel would refuse.
        said = self.there("/usr/libexec/wharf/wharf-model", "split", model, "--server", server.address, "--random", "--check",
                          "--mode", "server-only", "--slack", "100s", "--cache-dir", self.folder / "device")
        self.assertIn("0 after the device finished alone", said)


class DevelopmentDebTest(InARoot):
    debs = [*made(BUILD), *made(BUILD, "libwharf-dev")]

    @classmethod
    def setUpClass(cls):
        if not made(BUILD, "libwharf-dev"):
            raise unittest.SkipTest("make arm64 builds none; make arm64-models does")
        super().setUpClass()

    def test_lintian_finds_no_errors(self):
        print(run("lintian", "--allow-root", "--fail-on", "error", *made(BUILD, "libwharf-dev")))

    def test_a_project_builds_against_the_libraries(self):
        toolchain = self.folder / "toolchain.cmake"
        toolchain.write_text(f"include({SOURCE}/cmake/Arm64Toolchain.cmake)\nset(CMAKE_SYSROOT {self.root})\n")
        build = self.folder / "build"
        run("cmake", "-S", SOURCE / "tests" / "e2e" / "programs" / "links_wharf", "-B", build, "--toolchain", toolchain)
        run("cmake", "--build", build)
        said = self.there(build / "links_wharf", "/usr/share/wharf/ar/lite.onnx", "unix:/tmp/nobody")
        self.assertIn("no server answers at unix:/tmp/nobody", said)

    def test_pkg_config_names_what_is_there(self):
        places = ":".join(f"{self.root}/usr/{folder}/pkgconfig" for folder in ("lib", "lib/aarch64-linux-gnu", "share"))
        said = run("pkg-config", "--libs", "wharf-ar", env={**os.environ, "PKG_CONFIG_LIBDIR": places,
                                                            "PKG_CONFIG_SYSROOT_DIR": str(self.root)})
        self.assertIn("-lwharf_ar_client_kit", said)
        self.assertNotIn("arm64-sysroot", said)


class ServerDebsTest(InARoot):
    """With the packages of models, where they are made."""
    debs = [*made(SERVERS_BUILD), *made(BUILD, "wharf-models")]

    @classmethod
    def setUpClass(cls):
        if not made(SERVERS_BUILD):
            raise unittest.SkipTest("make arm64-server builds what servers need")
        super().setUpClass()
        run("aarch64-linux-gnu-g++", f"--sysroot={SYSROOT}", "-std=c++20", "-O1", "-shared", "-fPIC",
            f'-DWHARF_QEMU="{QEMU}"', '-DWHARF_SYSROOT="/"', SOURCE / "tests" / "cuda" / "emulated_kernel.cc",
            "-o", cls.root / KERNEL[1:])
        cls.config = (cls.root / "etc/wharf/serve.toml").read_text()

    def start_service(self):
        """By its unit's command line, its configuration as an administrator has it; its address."""
        unit = (self.root / "usr/lib/systemd/system/wharf-serve.service").read_text()
        line = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1)
        token = self.folder / "token"
        token.write_text("0123456789abcdef" * 4 + "\n")
        # No name spaces within a chroot.
        (self.root / "etc/wharf/serve.toml").write_text(
            f'{self.config}listen = "127.0.0.1:0"\ndevice = "soft"\nsandbox = "weak"\ntoken-file = "{token}"\n'
            f'cache-dir = "{self.folder}/server"\n')
        log = self.enterContext((self.folder / "serve.log").open("w"))
        process = subprocess.Popen(self.entering("-E", f"LD_PRELOAD={KERNEL}", *shlex.split(line)),
                                   stdout=subprocess.PIPE, stderr=log, text=True)
        self.addCleanup(end_gently, process)
        said = process.stdout.readline()
        self.assertRegex(said, r" on \S+$", (self.folder / "serve.log").read_text())
        return ["--server", said.split()[-1], "--token-file", token, "--timeout", f"{PATIENCE}s"]

    def test_lintian_finds_no_errors(self):
        print(run("lintian", "--allow-root", "--fail-on", "error", *made(SERVERS_BUILD)))

    def test_programs_load_what_their_packages_depend_on(self):
        self.check_what_programs_load()

    def test_the_doctor_finds_what_programs_run_on(self):
        said = self.there("-E", f"LD_PRELOAD={KERNEL}", "/usr/bin/wharf", "doctor")
        self.assertRegex(said, r"good +software device: .* LLVM 16")
        self.assertRegex(said, r"good +BLAS: OpenBLAS")
        self.assertEqual(self.there("/usr/bin/wharf", "serve", "--help"), self.command("serve", "--help").stdout)

    def test_cuda_programs_of_both_processors_are_served(self):
        service = self.start_service()
        for mode in ("posted", "replay"):
            run(HERE / "bin" / "wharf", "run", *service, "--mode", mode, "--", HERE / "cuda" / "looper", 3)
        program = shutil.copy(BUILD / "cuda" / "looper", self.folder)
        self.there("/usr/bin/wharf", "run", *service, "--", QEMU, program, 3)

    def test_models_are_served(self):
        if not made(BUILD, "wharf-models"):
            self.skipTest("make arm64-models builds what computes models")
        *service, _, _ = self.start_service()
        said = run(HERE / "bin" / "wharf", "split", MODEL, *service, "--random", "--check", "--mode", "server-only",
                   "--slack", "100s", "--cache-dir", self.folder / "device")
        self.assertIn("0 after the device finished alone", said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="leave the roots, in build/debs")
    options, rest = parser.parse_known_args()
    InARoot.keep = options.keep
    if os.geteuid() != 0:
        sys.exit("tools/test_arm64_debs.py wants to be root: it goes into roots of Debian")
    if not shutil.which("lintian"):  # only this needs it
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "lintian"], check=True)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()

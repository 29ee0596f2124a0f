"""What `cmake --install` leaves behind: programs, a service, what C++ programs build against; and how it goes again."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from device_files import COMMON_LIBRARIES, MOST_OF_A_DEVICE, is_program, megabytes
from wharf_fixture import BIN, PATIENCE, PROGRAMS, EndToEndTest, bounded, end_gently, strong_sandbox

NETWORK = pathlib.Path("usr/share/wharf/ar/lite.onnx")

BY_CMAKE = pathlib.Path(__file__).parent / "programs" / "links_wharf"
BY_PKG_CONFIG = """
#include <cstdio>
#include "wharf/ar/client_kit/client_kit.h"
int main(int, char** argv) {
  const auto kit = wharf::ar::ClientKit::Load(argv[1]);
  std::puts(kit.ok() ? "loaded" : std::string(kit.status().message()).c_str());
}
"""


def install(root, component=None):
    """As a package's builder does it; the files that are there then."""
    chosen = ["--component", component] if component else []
    subprocess.run(["cmake", "--install", BIN.parent, "--prefix", "/usr", *chosen], check=True,
                   stdout=subprocess.DEVNULL, timeout=PATIENCE, env={**os.environ, "DESTDIR": str(root)})
    name = f"install_manifest_{component}.txt" if component else "install_manifest.txt"
    manifest = (BIN.parent / name).read_text().splitlines()
    return [root / file.removeprefix("/") for file in manifest]


def libraries(file):
    """What it loads besides what every system has."""
    listed = subprocess.run(["ldd", file], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    found = {pathlib.Path(path).resolve() for path in re.findall(r"=> (/\S+)", listed)}
    return {path for path in found if not COMMON_LIBRARIES.fullmatch(path.name)}


class InstallTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.files = install(cls.root)

    def wharf(self, *words):
        done = subprocess.run([self.root / "usr/bin/wharf", *map(str, words)], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def run_quietly(self, *words, **options):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=4 * PATIENCE, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def unit(self, name):
        return self.root / "usr/lib/systemd/system" / name

    def start_service(self, config):
        """By its unit's command line, with `config` as an administrator adds it; its address."""
        line = re.search(r"^ExecStart=(.*)$", self.unit("wharf-serve.service").read_text(), re.MULTILINE).group(1)
        words = [str(self.root / word[1:]) if word.startswith("/") else word for word in shlex.split(line)]
        path = self.root / "etc/wharf/serve.toml"
        original = path.read_text()
        self.addCleanup(path.write_text, original)
        path.write_text(original + config)
        with (self.folder / "serve.log").open("w") as log:
            server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True,
                                      env={**os.environ, "XDG_CACHE_HOME": str(self.folder)})
        self.addCleanup(end_gently, server)
        with bounded(server):
            said = server.stdout.readline()
        self.assertRegex(said, r" on \S+$", (self.folder / "serve.log").read_text())
        return said.split()[-1]

    def test_the_service_runs_a_cuda_program_for_who_has_the_token(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        address = self.start_service(f'listen = "127.0.0.1:0"\ndevice = "soft"\ntoken-file = "{token}"\n'
                                     f'sandbox = "{"strong" if strong_sandbox() else "weak"}"\n')
        self.wharf("run", "--server", address, "--token-file", token, "--", PROGRAMS / "looper", 3)

    def test_what_a_device_needs_is_small_and_enough(self):
        root = self.folder / "device"
        files = [file for file in install(root, "device") if not file.is_symlink()]
        programs = list(filter(is_program, files))
        self.run_quietly("strip", *programs)
        needed = set().union(*map(libraries, programs)) - set(files)
        ours, others = megabytes(files), megabytes(needed)
        print(f"a device's files: {ours:.1f} MB, and libraries of {others:.1f} MB")
        self.assertLess(ours + others, MOST_OF_A_DEVICE)
        address = self.start_service('listen = "127.0.0.1:0"\ndevice = "soft"\nsandbox = "weak"\n')
        self.run_quietly(root / "usr/bin/wharf", "run", "--server", address, "--", PROGRAMS / "looper", 3)
        alone = subprocess.run([root / "usr/bin/wharf", "run", "--local", "--", PROGRAMS / "looper", "3"],
                               capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(alone.returncode, 1)
        self.assertIn("wharf-worker, which serves programs, is not installed", alone.stderr)

    def test_the_programs_find_each_other(self):
        self.assertEqual(self.wharf("--version"), self.command("--version").stdout)
        self.assertIn("HOST:PORT of `wharf serve`", self.wharf("split", "--help"))  # wharf-model says so
        networks = self.root / NETWORK.parent
        self.assertIn(f"={networks}\n", self.wharf("ar", "latency", "--help"))
        self.wharf("ar", "latency", "--network", "lite", "--batches", 1, "--rounds", 1)

    def test_a_cmake_project_finds_it(self):
        build = self.folder / "build"
        self.run_quietly("cmake", "-S", BY_CMAKE, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.root}/usr")
        self.run_quietly("cmake", "--build", build)
        said = self.run_quietly(build / "links_wharf", self.root / NETWORK, f"unix:{self.folder}/nobody")
        self.assertIn(f"no server answers at unix:{self.folder}/nobody", said)

    def test_cmake_says_which_components_there_are(self):
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)\n"
            "find_package(Wharf REQUIRED COMPONENTS Sea)\n")
        done = subprocess.run(
            ["cmake", "-S", self.folder, "-B", self.folder / "build", "-G", "Ninja",
             f"-DCMAKE_PREFIX_PATH={self.root}/usr"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no component Sea; there are Client, Split, Ar", " ".join(done.stderr.split()))

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_a_project_finds_it_by_pkg_config(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": f"{self.root}/usr/lib/pkgconfig"}
        flags = self.run_quietly("pkg-config", "--cflags", "--libs", "wharf-ar", env=environment)
        source, user = self.folder / "user.cc", self.folder / "user"
        source.write_text(BY_PKG_CONFIG)
        self.run_quietly("g++", "-std=c++20", source, "-o", user, *shlex.split(flags))
        self.assertEqual(self.run_quietly(user, (self.root / NETWORK).parent), "loaded\n")

    def test_headers_are_those_that_programs_need(self):
        include = self.root / "usr/include"
        headers = {str(file.relative_to(include)) for file in include.rglob("*.h")}
        included = {name for header in headers
                    for name in re.findall(r'^#include "(wharf/[^"]*)"', (include / header).read_text(), re.MULTILINE)}
        self.assertLessEqual(included, headers)
        self.assertLessEqual({"wharf/split/runtime/edge_model.h", "wharf/ar/client/client.h", "wharf/link/channel.h"},
                             headers)
        self.assertEqual([header for header in headers if re.match(r"wharf/(server|cli|device|offload)/", header)], [])

    def test_shells_complete_it(self):
        for shell, file in (("bash", "bash-completion/completions/wharf"), ("zsh", "zsh/vendor-completions/_wharf")):
            self.assertEqual((self.root / "usr/share" / file).read_text(), self.wharf("completion", shell))

    def test_every_command_has_a_page_of_manual(self):
        pages = self.root / "usr/share/man/man1"
        commands = re.findall(r"^  ([a-z]\S*)  ", self.wharf("--help").partition("\nOptions:\n")[2], re.MULTILINE)
        self.assertIn("pipeline", commands)
        for command in commands:
            page = pages / f"wharf-{command}.1"
            other = re.fullmatch(r"\.so man1/(.*)\n", page.read_text())
            text = (pages / other.group(1) if other else page).read_text()
            self.assertIn(f"\n.SH wharf {command}\n", text)
            # Of whoever made it.
            self.assertEqual([line for line in text.splitlines() if str(BIN.parent) in line], [], page)
        # Of wharf-model's commands, too.
        self.assertIn("\n.B \\-\\-server TEXT\n", (pages / "wharf-split.1").read_text())
        self.assertIn("\nwharf \\- ", (pages / "wharf.1").read_text())

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_shows_the_pages(self):
        for command in ("wharf", "wharf-serve", "wharf-split", "wharf-ar", "wharf-pipeline", "wharf-tools"):
            shown = subprocess.run(["man", "--warnings=w", "-M", self.root / "usr/share/man", command],
                                   capture_output=True, text=True, timeout=PATIENCE,
                                   env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "100"})
            self.assertEqual(shown.returncode, 0, shown.stderr)
            said = [line for line in shown.stderr.splitlines() if "can't break line" not in line]  # an option's values
            self.assertEqual(said, [], command)
            self.assertIn("Usage: wharf", shown.stdout)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_understands_the_units(self):
        for name in ("wharf-serve.service", "wharf-serve.socket"):
            (self.folder / name).write_text(self.unit(name).read_text().replace("=/usr/bin/", f"={self.root}/usr/bin/"))
        service = self.folder / "wharf-serve.service"
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", service, self.folder / "wharf-serve.socket"],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.run_quietly("systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", service)

    def test_what_an_administrator_wrote_stays_and_the_rest_goes_by_the_manifest(self):
        root = self.folder / "root"
        files = install(root)
        self.assertEqual({file for file in root.rglob("*") if not file.is_dir()}, set(files))
        config = root / "etc/wharf/serve.toml"
        self.assertIn(config, files)
        self.assertEqual((root / "etc/wharf/secrets").stat().st_mode & 0o777, 0o700)
        config.write_text('listen = "127.0.0.1:1"\n')
        self.assertEqual(set(files) - set(install(root)), {config})
        self.assertEqual(config.read_text(), 'listen = "127.0.0.1:1"\n')
        for file in files:
            file.unlink()
        self.assertEqual([file for file in root.rglob("*") if not file.is_dir()], [])


if __name__ == "__main__":
    unittest.main()

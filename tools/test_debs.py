"""`make test-debs`: Debian's packages in roots of their own.

  tools/test_debs.py [--debs build/default/debs] [--keep]

In a root of Debian 12 that has the device's package only, a CUDA program runs by a server that was started in another
root, by its unit's command line and as its user. There Python loads a model, and a C++ project is built against the
libraries. Packages are upgraded, removed and purged, and leave nothing. Dockerfiles are followed line by line. Wants
root, and fetches Debian's packages (mmdebstrap, lintian; some 600 MB for the second root), hence no part of `make test`.
"""

import argparse
import json
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
BUILD = SOURCE / "build" / "default"
ROOTS = SOURCE / "build" / "debs"  # the empty root is made once
PATIENCE = 1800
DEVICE, SERVER = ["wharf-device"], ["wharf-device", "wharf-server", "wharf-models", "python3-wharf", "libwharf-dev"]
NOT_OURS = re.compile(r"/(proc|sys|dev|tmp|debs|run|"
                      r"var/(log|lib/(dpkg|apt|systemd|dbus)|cache/(apt|debconf|ldconfig|man))|"
                      r"etc/((passwd|group|shadow|gshadow|subuid|subgid)-?$|ld\.so\.cache|\.pwd\.lock))")

USER_OF_LIBRARY = SOURCE / "tests" / "e2e" / "programs" / "links_wharf"
USER_OF_PYTHON = """
import sys
import numpy as np
import wharf
with wharf.load("/usr/share/wharf/ar/lite.onnx", sys.argv[1], token_file="/tmp/token", planner="server-only",
                slack_ms=1e6) as model:
    model(np.zeros(model.inputs[0].shape, model.inputs[0].dtype))
    print("alone" if model.report().alone else "both")
"""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          **options)
    if done.returncode:
        raise AssertionError(f"{shlex.join(map(str, words))}: exit code {done.returncode}\n{done.stdout[-4000:]}"
                             f"{done.stderr[-4000:]}")
    return done.stdout


class Root:
    """A machine, as far as its files go."""

    def __init__(self, folder):
        self.folder = folder
        empty = ROOTS / "empty.tar"
        if not empty.exists():
            # In two steps: one that was interrupted leaves no half root.
            run("mmdebstrap", "--variant=apt", "--skip=cleanup/apt/lists", "bookworm", f"{empty}.part.tar",
                "http://deb.debian.org/debian")
            os.rename(f"{empty}.part.tar", empty)
        folder.mkdir()
        run("tar", "-C", folder, "-xf", empty)
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        (folder / "etc/apt/apt.conf.d/99test").write_text('APT::Install-Recommends "false";\n'
                                                         'DPkg::Options "--force-unsafe-io";\n')
        (folder / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        for place in ("proc", "dev"):
            run("mount", "--rbind", f"/{place}", folder / place)
            run("mount", "--make-rslave", folder / place)

    def close(self):
        for place in ("proc", "dev"):
            run("umount", "-l", self.folder / place)

    def command(self, *words, user=None):
        as_user = [f"--userspec={user}"] if user else []
        return ["chroot", *as_user, self.folder, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "HOME=/tmp", *words]

    def run(self, *words):
        return run(*self.command(*words))

    def install(self, debs, *others):
        """Files of packages, and names of packages."""
        (self.folder / "debs").mkdir(exist_ok=True)
        for deb in debs:
            shutil.copy(deb, self.folder / "debs")
        return self.run("apt-get", "install", "-y", "-q", *(f"/debs/{deb.name}" for deb in debs), *others)

    def unowned(self):
        """Files and folders that no package has."""
        lists = (self.folder / "var/lib/dpkg/info").glob("*.list")
        owned = {line for file in lists for line in file.read_text().splitlines()}
        # /lib is /usr/lib there.
        owned |= {f"/usr{path}" for path in owned if re.match(r"/(lib\w*|s?bin)(/|$)", path)}
        found = set()
        for folder, folders, files in os.walk(self.folder):
            inside = "/" + os.path.relpath(folder, self.folder)
            folders[:] = [one for one in folders if not NOT_OURS.match(os.path.join(inside, one))]
            found |= {os.path.join(inside, one).replace("/./", "/") for one in [*files, *folders]}
        return {path for path in found if not NOT_OURS.match(path)} - owned


class Image:
    """What a Dockerfile of ours makes, of a root in the place of Debian's image, with the files of `context`."""

    def __init__(self, dockerfile, root, context):
        self.root, self.variables, self.user, self.entrypoint = root, [], None, None
        text = re.sub(r"^#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
        for line in text.splitlines():
            instruction, rest = line.split(" ", 1)
            if instruction == "COPY":
                self.copy(context, *rest.split())
            elif instruction == "RUN":
                root.run("sh", "-c", rest)
            elif instruction == "ENV":
                self.variables += shlex.split(rest)
            elif instruction == "USER":
                self.user = rest
            elif instruction == "ENTRYPOINT":
                self.entrypoint = json.loads(rest)
            elif line not in ("FROM debian:12-slim", "EXPOSE 7070"):
                raise AssertionError(f"{dockerfile}: {line}")

    def copy(self, context, *words):
        *patterns, target = words
        place = self.root.folder / target.strip("/")
        place.mkdir(parents=True, exist_ok=True)
        for pattern in patterns:
            [file] = context.glob(pattern)
            shutil.copy(file, place)

    def command(self, *words):
        return [str(word) for word in self.root.command(*self.variables, *self.entrypoint, *words, user=self.user)]


def upgraded(deb, folder):
    """The next version of a package: another number, another default in the server's configuration."""
    tree = folder / deb.name
    run("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace("0.1.0-1", "0.1.0-2"))
    config = tree / "etc/wharf/serve.toml"
    if config.exists():
        config.write_text(config.read_text() + "# The next version.\n")
        # md5sums are checked by nobody here.
    made = folder / deb.name.replace("0.1.0-1", "0.1.0-2")
    run("dpkg-deb", "-Zgzip", "-z1", "-b", tree, made)
    shutil.rmtree(tree)
    return made


class DebsTest(unittest.TestCase):
    folder = None
    debs = BUILD / "debs"
    keep = False

    @classmethod
    def setUpClass(cls):
        cls.packages = {name: next(cls.debs.glob(f"{name}_*.deb")) for name in SERVER}
        ROOTS.mkdir(parents=True, exist_ok=True)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="roots-", dir=ROOTS))
        cls.device, cls.server = Root(cls.folder / "device"), Root(cls.folder / "server")

    @classmethod
    def tearDownClass(cls):
        for root in (cls.device, cls.server):
            root.close()
        if not cls.keep:
            run("rm", "-rf", "--one-file-system", cls.folder)

    def test_1_lintian_finds_no_errors(self):
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *self.packages.values()],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        print(done.stdout, done.stderr, sep="")
        self.assertEqual(done.returncode, 0)

    def test_2_what_is_installed_works(self):
        self.device.before = self.device.unowned()
        self.device.install([self.packages[name] for name in DEVICE])
        self.server.install([self.packages[name] for name in SERVER if name != "libwharf-dev"])
        self.server.before = None
        self.assertIn("wharf:", (self.server.folder / "etc/passwd").read_text())
        (self.server.folder / "tmp/token").write_text("0123456789abcdef" * 4 + "\n")
        self.assertEqual((self.server.folder / "etc/wharf/secrets").stat().st_mode & 0o777, 0o700)
        process, address = self.start_service()
        try:
            shutil.copy(BUILD / "cuda" / "looper", self.device.folder / "tmp/looper")
            shutil.copy(self.server.folder / "tmp/token", self.device.folder / "tmp/token")
            self.device.run("wharf", "run", "--server", address, "--token-file", "/tmp/token", "--", "/tmp/looper", "3")
            (self.server.folder / "tmp/user.py").write_text(USER_OF_PYTHON)
            self.assertEqual(self.server.run("python3", "/tmp/user.py", address).splitlines()[-1], "both")
        finally:
            process.terminate()
            process.wait(60)
            process.stdout.close()

    def start_service(self):
        """By the unit's command line, as its user; its configuration as an administrator has it."""
        unit = (self.server.folder / "usr/lib/systemd/system/wharf-serve.service").read_text()
        line = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1)
        user = re.search(r"^User=(.*)$", unit, re.MULTILINE).group(1)
        config = self.server.folder / "etc/wharf/serve.toml"
        # No credentials without systemd, and no name spaces within a chroot.
        token = self.server.folder / "var/lib/wharf/token"
        token.parent.mkdir(exist_ok=True)
        shutil.copy(self.server.folder / "tmp/token", token)
        self.server.run("chown", "-R", f"{user}:{user}", "/var/lib/wharf")
        config.write_text(config.read_text() + 'listen = "127.0.0.1:0"\ndevice = "soft"\nsandbox = "weak"\n'
                          'token-file = "/var/lib/wharf/token"\n')
        words = self.server.command("XDG_CACHE_HOME=/var/lib/wharf", *shlex.split(line), user=user)
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
        said = process.stdout.readline()
        self.assertRegex(said, r" on \S+$")
        return process, said.split()[-1]

    def test_3_a_project_builds_against_the_libraries(self):
        # What builds is this machine's kind of compiler, of the root's Debian.
        self.server.install([self.packages["libwharf-dev"]], "g++", "cmake", "ninja-build", "pkg-config")
        shutil.copytree(USER_OF_LIBRARY, self.server.folder / "tmp/user")
        self.server.run("cmake", "-S", "/tmp/user", "-B", "/tmp/user/build", "-G", "Ninja")
        self.server.run("cmake", "--build", "/tmp/user/build")
        said = self.server.run("/tmp/user/build/links_wharf", "/usr/share/wharf/ar/lite.onnx", "unix:/tmp/nobody")
        self.assertIn("no server answers at unix:/tmp/nobody", said)
        self.assertIn("-lwharf_ar_client_kit", self.server.run("pkg-config", "--libs", "wharf-ar"))

    def test_4_upgrades_keep_what_the_administrator_wrote(self):
        for root, names in ((self.device, DEVICE), (self.server, SERVER)):
            config = root.folder / "etc/wharf/serve.toml"
            before = config.read_text() if config.exists() else None
            root.install([upgraded(self.packages[name], self.folder) for name in names],
                         "-o", "DPkg::Options::=--force-confold")
            for name in names:
                self.assertEqual(root.run("dpkg-query", "-f", "${Version} ${Status}", "-W", name),
                                 "0.1.0-2 install ok installed")
            if before is not None:
                self.assertEqual(config.read_text(), before)
                self.assertIn("# The next version.", (config.parent / "serve.toml.dpkg-dist").read_text())
        self.assertIn("wharf", self.device.run("wharf", "--version"))

    def test_5_what_is_removed_and_purged_leaves_nothing(self):
        config = self.server.folder / "etc/wharf/serve.toml"
        secret = config.parent / "secrets/token"
        secret.write_text("secret\n")
        for root, names in ((self.device, DEVICE), (self.server, SERVER)):
            root.run("apt-get", "remove", "-y", "-q", *names)
            left = {path for path in root.unowned() if "wharf" in path}
            # Of the server: what the administrator and the service have written, until it is purged.
            self.assertTrue(all(re.match(r"/(etc/wharf|var/lib/wharf)(/|$)", path) for path in left), left)
            self.assertFalse((root.folder / "usr/bin/wharf").exists())
        self.assertTrue(config.exists() and secret.exists())
        for root, names in ((self.device, DEVICE), (self.server, SERVER)):
            root.run("dpkg", "--purge", *names)  # of those that left nothing nothing is known any more
            found = run("find", root.folder, "-xdev", "-iname", "*wharf*").splitlines()
            ours = [path for path in found if not path.startswith((f"{root.folder}/debs", f"{root.folder}/tmp"))]
            self.assertEqual(ours, [])
        self.assertEqual(self.device.unowned() - self.device.before, set())

    def test_6_images_are_made_as_their_files_say(self):
        """No image can be pulled here: a root of the same Debian is in its place, and chroot in Docker's."""
        images = {}
        for name in ("device", "server"):
            root = Root(self.folder / f"{name}-image")
            self.addCleanup(root.close)
            images[name] = Image(SOURCE / "packaging" / "docker" / f"{name}.Dockerfile", root, self.debs)
        for image in images.values():
            self.assertFalse((image.root.folder / "debs").exists())
            (image.root.folder / "run/secrets").mkdir(parents=True)
            (image.root.folder / "run/secrets/token").write_text("0123456789abcdef" * 4 + "\n")
        # No name spaces within a chroot, and another port than the one of this machine's own server.
        words = images["server"].command("--sandbox", "weak", "--device", "soft", "--listen", "127.0.0.1:0")
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                address = process.stdout.readline().split()[-1]
                shutil.copy(BUILD / "cuda" / "looper", images["device"].root.folder / "tmp/looper")
                run(*images["device"].command("run", "--server", address, "--token-file", "/run/secrets/token", "--",
                                              "/tmp/looper", "3"))
                kept = images["server"].root.folder / "var/cache/wharf/kernels"
                self.assertTrue(any(kept.rglob("*")), "compiled kernels are kept")
            finally:
                process.terminate()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debs", type=pathlib.Path, default=BUILD / "debs")
    parser.add_argument("--keep", action="store_true", help="leave the roots, in build/debs")
    options, rest = parser.parse_known_args()
    DebsTest.debs, DebsTest.keep = options.debs, options.keep
    if os.geteuid() != 0:
        sys.exit("tools/test_debs.py wants to be root: it makes roots of Debian and goes into them")
    missing = [name for name in ("mmdebstrap", "lintian") if not shutil.which(name)]
    if missing:  # only this needs them
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing], check=True)
    unittest.main(argv=[sys.argv[0], *rest], failfast=True)


if __name__ == "__main__":
    main()

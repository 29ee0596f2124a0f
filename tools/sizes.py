#!/usr/bin/env python3
"""`make sizes`: what a device needs, of each build that is there, and Debian's packages of it.

  tools/sizes.py [BUILD…]      build/default, build/arm64, build/arm64-server, build/debian11, build/debian11-arm64

Of the component `device`: its files and the libraries that they load besides libc, libstdc++ and OpenSSL, the newest glibc
that any of its files asks for, and what `wharf run` costs the device until a trivial program has ended (where this machine
is of its kind; processor time without the server's, the median of 11). Exit code 1 where it is more than it should be: 25
MB. Time is not judged: the machine may be busy.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
from device_files import MOST_OF_A_DEVICE, glibc, install, is_program, libraries, megabytes  # noqa: E402

WHOLE = SOURCE / "build" / "default"
BUILDS = [WHOLE, *(SOURCE / "build" / name for name in ("arm64", "arm64-server", "debian11", "debian11-arm64"))]
RUNS = 11


def sysroot(build):
    line = next((line for line in (build / "CMakeCache.txt").read_text().splitlines()
                 if line.startswith("CMAKE_TOOLCHAIN_FILE:")), "")
    named = {"Arm64Toolchain.cmake": "arm64-sysroot", "Debian11Toolchain.cmake": "debian11-sysroot",
             "Debian11Arm64Toolchain.cmake": "debian11-arm64-sysroot"}
    folder = named.get(pathlib.Path(line.partition("=")[2]).name)
    return SOURCE / "build" / folder if folder else pathlib.Path("/")


def cost(words):
    """Milliseconds of processor time, with what it waits for."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{words}: exit code {process.returncode}")
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def start_costs(device):
    """Of `true`, which calls no CUDA, and of a CUDA program without kernels."""
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([WHOLE / "bin/wharf", "serve", "--listen", f"unix:{folder}/server", "--device", "soft",
                                   "--sandbox", "weak", "--cache-dir", folder],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            if " on " not in server.stdout.readline():
                sys.exit("the server does not start")
            run = [device / "bin/wharf", "run", "--server", f"unix:{folder}/server", "--"]
            for program in "true", WHOLE / "cuda/no_kernels":
                times = [cost([*run, program]) for _ in range(RUNS)]
                yield f"{statistics.median(times):.0f} ms for {pathlib.Path(program).name}"
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()


def report(build):
    """Whether it is as small as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        files = install(build, folder)
        programs = list(filter(is_program, files))
        others = libraries(programs, sysroot(build))
        ours, theirs = megabytes(files), megabytes(others)
        newest = max(map(glibc, programs))
        print(f"{build.relative_to(SOURCE)}: {ours:.1f} MB, and {theirs:.1f} MB of {len(others)} libraries; asks for glibc "
              f"{newest[0]}.{newest[1]}")
        if build == WHOLE:
            print(f"  wharf run takes {', '.join(start_costs(pathlib.Path(folder)))}, of processor time")
    for deb in sorted((build / "debs").glob("*.deb")):
        done = subprocess.run(["dpkg-deb", "-f", deb, "Installed-Size"], capture_output=True, text=True, check=True)
        print(f"  {deb.name}: {deb.stat().st_size / 1e6:.1f} MB, installed {int(done.stdout) * 1024 / 1e6:.1f} MB")
    return ours + theirs <= MOST_OF_A_DEVICE


def main():
    if len(sys.argv) > 1 and sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    builds = [pathlib.Path(word).resolve() for word in sys.argv[1:]] or BUILDS
    there = [build for build in builds if (build / "bin/wharf").exists()]
    small = [report(build) for build in there]
    sys.exit(not (small and all(small)))


if __name__ == "__main__":
    main()

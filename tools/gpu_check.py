#!/usr/bin/env python3
"""What is worth trying on a machine with a GPU, in one go of ten minutes.

  tools/gpu_check.py pack FILE.tar.xz     here, after `make build`: the programs and the libraries they need, to carry
  tools/gpu_check.py run                  there: with build/default, or --pack FILE.tar.xz

Each step says how it went, and the next begins whatever that was. At the end there are a table and, with --json FILE, all
of it as JSON. Exit code 1 if a step failed. A step is skipped where what it needs is not there.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes.util
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# Programs that test themselves and print what does not depend on the device.
NOT_HERE = {"interrupted", "looper", "looper_no_ptx", "misbehave", "cuda_decode", "cuda_pose",
            "memory_spaces_packed", "packs_packed", "pose_client", "pose_server", "reduce"}
OF_CUDA_12 = re.compile(r"^cuda_12_|_12(_static)?$")  # whose libraries the machine does not have
SYSTEM_LIBRARIES = re.compile(r"^(ld-linux|libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)[-.]")
MODES = ("posted", "replay")
SIZE_LIMIT_MIB = 64
SKIPPED = 77

FRAMEWORKS = {
    "torch": """
import torch
torch.manual_seed(1)
torch.backends.cudnn.enabled = False
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 10)).eval()
x = torch.randn(64, 256)
with torch.no_grad():
    want = net(x)
    got = net.cuda()(x.cuda()).cpu()
assert torch.allclose(want, got, atol=1e-4), (want - got).abs().max()
print(torch.__version__, torch.cuda.get_device_name())
""",
    "torchvision": """
import torch, torchvision
torch.manual_seed(1)
net = torchvision.models.resnet18(weights=None).eval()
x = torch.randn(1, 3, 224, 224)
with torch.no_grad():
    want = net(x)
    got = net.cuda()(x.cuda()).cpu()
assert torch.allclose(want, got, atol=1e-3), (want - got).abs().max()
print("resnet18", torchvision.__version__)
""",
    "cupy": """
import cupy
x = cupy.arange(1 << 20, dtype=cupy.float32)
assert abs(float((x * 2).sum()) - (1 << 20) * ((1 << 20) - 1)) < 1e7
print(cupy.__version__)
""",
    "jax": """
import jax, jax.numpy as jnp
x = jnp.ones((256, 256))
assert float((x @ x).sum()) == 256.0 ** 3
print(jax.__version__, jax.devices())
""",
}


@dataclasses.dataclass
class Result:
    step: str
    verdict: str  # passed, failed, skipped, timed out, not begun
    seconds: float = 0.0
    said: str = ""


class Skip(Exception):
    """What the step needs is not there."""


def toolkit_libraries():
    """The toolkit's, in front of what the user's environment names: programs link its runtime, and NVRTC is its own."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    own = pathlib.Path(nvcc).resolve().parent.parent / "lib64"
    return ":".join(filter(None, [str(own) if own.is_dir() else "", os.environ.get("LD_LIBRARY_PATH", "")]))


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""


class Check:
    def __init__(self, options, bin_folder, programs, environment):
        self.options, self.bin, self.programs, self.environment = options, bin_folder, programs, environment
        self.end = time.monotonic() + 60 * options.minutes
        self.results, self.facts = [], {}
        self.sandbox = "strong"
        self.logs = pathlib.Path(options.logs or tempfile.mkdtemp(prefix="wharf-gpu-"))
        self.logs.mkdir(parents=True, exist_ok=True)

    # --- running things ---

    def run(self, name, command, limit=60, native=False, ok=(0,)):
        """A command's output; its log is kept. `native`: with the vendor's libraries, as if there were no Wharf."""
        limit = max(1, min(limit, self.end - time.monotonic()))
        environment = {**os.environ, "LD_LIBRARY_PATH": toolkit_libraries()} if native else self.environment
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=limit, env=environment,
                              cwd=SOURCE, errors="replace")
        (self.logs / f"{name}.log").write_text(done.stdout + done.stderr)
        if done.returncode == SKIPPED:
            raise Skip(last_line(done.stdout + done.stderr))
        if done.returncode not in ok:
            raise AssertionError(f"exit code {done.returncode}: {last_line(done.stderr) or last_line(done.stdout)}")
        return done.stdout

    def step(self, name, work):
        if time.monotonic() >= self.end:
            result = Result(name, "not begun", said="no time was left")
        else:
            start = time.monotonic()
            try:
                verdict, said = "passed", work() or ""
            except Skip as why:
                verdict, said = "skipped", str(why)
            except subprocess.TimeoutExpired as why:
                verdict, said = "timed out", f"after {why.timeout:.0f} s"
            except (AssertionError, OSError, ValueError, KeyError) as why:
                verdict, said = "failed", str(why)
            result = Result(name, verdict, time.monotonic() - start, said)
        self.results.append(result)
        print(f"{result.verdict:>10}  {result.seconds:6.1f} s  {result.step}  {result.said}", flush=True)

    @contextlib.contextmanager
    def server(self, name):
        with open(self.logs / f"{name}.server.log", "w") as log:
            process = subprocess.Popen(
                [self.bin / "wharf", "serve", "--device", self.options.device, "--sandbox", self.sandbox, "--listen",
                 "127.0.0.1:0", "--cache-dir", self.logs / "cache", "--max-sessions", "64"],
                stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment)
        try:
            line = process.stdout.readline()
            if not line:
                raise AssertionError(f"the server did not start: {last_line((self.logs / f'{name}.server.log').read_text())}")
            yield line.split()[-1]
        finally:
            process.terminate()
            process.wait(30)

    def through(self, address, mode, command):
        return [self.bin / "wharf", "run", "--server", address, "--mode", mode, "--timeout", "120s", "--", *command]

    def needs_gpu(self):
        if self.options.device != "cuda":
            raise Skip("needs a GPU")

    # --- steps ---

    def machine(self):
        self.needs_gpu()
        said = self.run("machine", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                        native=True)
        self.facts["gpu"] = last_line(said)
        return last_line(said)

    def conformance(self):
        return self.gtest("conformance", "device_tests", f"*/{self.options.device}*", limit=180)

    def driver(self):
        self.needs_gpu()
        return self.gtest("driver", "device_cuda_tests", "*Real*", limit=120)

    def gtest(self, name, program, tests, limit):
        said = self.run(name, [self.bin / program, f"--gtest_filter={tests}"], limit)
        passed = re.search(r"PASSED +\] (\d+) test", said)
        if not passed or passed.group(1) == "0":
            raise AssertionError(f"no test of {tests} ran")
        return f"{passed.group(1)} tests"

    def strong_sandbox(self):
        """A worker has what it needs of the GPU, and no more. Others go on with weak if it has not."""
        try:
            with self.server("strong") as address:
                self.run("strong", self.through(address, "posted", [self.programs / "memcpy_forms"]))
        except BaseException:
            self.sandbox = "weak"
            raise

    def program(self, address, path):
        name = path.name
        if self.options.device == "cuda":
            want = self.run(f"{name}.native", [path], native=True)
        else:
            want = self.run(f"{name}.local", [self.bin / "wharf", "run", "--local", "--device", "soft", "--", path])
        for mode in MODES:
            if self.run(f"{name}.{mode}", self.through(address, mode, [path])) != want:
                raise AssertionError(f"prints something else in mode {mode}: see {self.logs}/{name}.*.log")

    def all_programs(self):
        """One line for all that pass, and one for each that does not."""
        paths = sorted(path for path in self.programs.iterdir()
                       if path.is_file() and os.access(path, os.X_OK) and path.name not in NOT_HERE
                       and not OF_CUDA_12.search(path.name)
                       and (not self.options.programs or path.name in self.options.programs.split(",")))
        failed, passed, skipped = {}, [], []
        with self.server("programs") as address, concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            jobs = {pool.submit(self.program, address, path): path.name for path in paths}
            for job in concurrent.futures.as_completed(jobs):
                try:
                    job.result()
                    passed.append(jobs[job])
                except Skip:
                    skipped.append(jobs[job])
                except (AssertionError, OSError, subprocess.TimeoutExpired) as why:
                    failed[jobs[job]] = str(why)
        self.facts["programs"] = {"passed": sorted(passed), "skipped": sorted(skipped), "failed": failed}
        said = f"{len(passed)} of {len(paths)} as without a server in {', '.join(MODES)}"
        if failed:
            raise AssertionError(f"{said}; " + "; ".join(f"{name}: {why}" for name, why in sorted(failed.items())))
        return said

    def bench(self):
        rows = self.logs / "bench.json"
        self.run("bench", [self.bin / "wharf", "bench", "offload", "--device", self.options.device, "--modes",
                           "native,replay,posted,cached,percall", "--scenarios", "indoors,fixed", "--inferences",
                           self.options.inferences, "--json", rows], limit=240)
        self.facts["bench"] = json.loads(rows.read_text())
        return f"rows in {rows}"

    def framework(self, name):
        self.needs_gpu()
        program = [shutil.which("python3"), "-c", FRAMEWORKS[name]]
        try:
            said = self.run(f"{name}.native", program, limit=90, native=True)
        except AssertionError as why:
            raise Skip(f"not natively either: {why}") from why
        with self.server(name) as address:
            self.run(f"{name}.posted", self.through(address, "posted", program), limit=120)
        return last_line(said)

    def all(self):
        steps = {
            "machine": self.machine, "conformance": self.conformance, "driver": self.driver,
            "strong sandbox": self.strong_sandbox, "programs": self.all_programs, "bench": self.bench,
            **{name: lambda name=name: self.framework(name) for name in FRAMEWORKS},
        }
        wanted = self.options.steps.split(",") if self.options.steps else list(steps)
        for name in wanted:
            self.step(name, steps[name])


def libraries_of(programs):
    """What the programs load that not every system has."""
    found = {}
    for program in programs:
        listing = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        for name, path in re.findall(r"(\S+) => (/\S+)", listing):
            if not SYSTEM_LIBRARIES.match(name):
                found[name] = pathlib.Path(path).resolve()
    return found


def pack(options):
    build = pathlib.Path(options.build)
    programs = [build / "bin" / name for name in ("wharf", "device_tests", "device_cuda_tests")]
    missing = [str(program) for program in programs if not program.exists()]
    if missing:
        sys.exit(f"{', '.join(missing)} is not there: make build")
    dropin = sorted((build / "lib" / "wharf").glob("*.so*"))
    with tempfile.TemporaryDirectory() as folder, tarfile.open(options.file, "w:xz", preset=6) as archive:
        def add(path, name):
            if path.is_symlink():
                return archive.add(path, name)
            stripped = pathlib.Path(folder) / "stripped"
            shutil.copy(path, stripped)
            subprocess.run(["strip", "--strip-unneeded", stripped], capture_output=True)  # scripts stay as they are
            return archive.add(stripped, name)

        for program in programs:
            add(program, f"bin/{program.name}")
        for library in dropin:
            add(library, f"lib/wharf/{library.name}")
        for program in sorted((build / "cuda").iterdir()):
            if program.is_file():
                add(program, f"cuda/{program.name}")
        for name, path in sorted(libraries_of([*programs, *dropin]).items()):
            if build.resolve() not in path.parents:
                add(path, f"lib/system/{name}")
    mib = pathlib.Path(options.file).stat().st_size / (1 << 20)
    print(f"{options.file}: {mib:.1f} MiB")
    if mib > SIZE_LIMIT_MIB:
        sys.exit(f"that is more than {SIZE_LIMIT_MIB} MiB")


def run(options):
    with tempfile.TemporaryDirectory(prefix="wharf-pack-") as folder:
        build, environment = pathlib.Path(options.build), {**os.environ, "LD_LIBRARY_PATH": toolkit_libraries()}
        if options.pack:
            build = pathlib.Path(folder)
            with tarfile.open(options.pack) as archive:
                archive.extractall(build, filter="data")
            environment["LD_LIBRARY_PATH"] = f"{build}/lib/system:{environment['LD_LIBRARY_PATH']}"
        if options.device == "cuda" and ctypes.util.find_library("cuda") is None and shutil.which("nvidia-smi") is None:
            sys.exit("there is no NVIDIA driver here; --device soft tries the same on the CPU")
        check = Check(options, build.resolve() / "bin", build.resolve() / "cuda", environment)
        check.all()
    if options.json:
        document = {"device": options.device, **check.facts, "steps": [dataclasses.asdict(one) for one in check.results]}
        pathlib.Path(options.json).write_text(json.dumps(document, indent=2) + "\n")
    counts = {verdict: sum(one.verdict == verdict for one in check.results)
              for verdict in ("passed", "failed", "timed out", "skipped", "not begun")}
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count), f"(logs: {check.logs})")
    return 1 if counts["failed"] or counts["timed out"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=SOURCE / "build" / "default", help="the build (default: build/default)")
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="make an archive of what is built")
    packing.add_argument("file")
    running = commands.add_parser("run", help="try everything")
    running.add_argument("--pack", help="the archive, instead of a build")
    running.add_argument("--device", choices=("cuda", "soft"), default="cuda", help="soft: the same steps without a GPU")
    running.add_argument("--steps", help="only these, separated by commas")
    running.add_argument("--programs", help="only these of tests/cuda, separated by commas")
    running.add_argument("--inferences", type=int, default=20, help="of each row of the bench")
    running.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="programs at a time")
    running.add_argument("--minutes", type=float, default=10, help="steps that have not begun by then do not")
    running.add_argument("--json", help="write everything to this file")
    running.add_argument("--logs", help="keep logs in this folder")
    options = parser.parse_args()
    return pack(options) if options.command == "pack" else run(options)


if __name__ == "__main__":
    sys.exit(main())

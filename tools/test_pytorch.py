#!/usr/bin/env python3
"""`make test-pytorch`: networks of torchvision by PyTorch from PyPI, unmodified, on the software device.

Makes a virtual environment with PyTorch (4.5 GB) and a kernel pack of its sources (half an hour) in --work, unless they
are there. Then every network infers on this processor, by PyTorch alone; by `wharf run --local`; and through a
`wharf serve`: per call on loopback, posted and in replay through an emulated link, and in replay through a link that
breaks every two seconds. Each must end with the processor's results. Prints a table; exit code 1 if one differs.
With --cuda12 none of this, but PyTorch of CUDA 12 (pytorch_cuda12.py).
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
INFERENCE = SOURCE / "examples/pytorch/inference.py"
PACKAGES = ("torch==2.12.1", "torchvision==0.27.1", "numpy", "pyyaml")  # pyyaml: PyTorch's generator of sources
MODELS = ("resnet18 resnet50 mobilenet_v3_large efficientnet_b0 vgg19 densenet121 regnet_y_400mf convnext_tiny vit_b_16 "
          "swin_t fcn_resnet50 deeplabv3_resnet50 lraspp_mobilenet_v3_large ssdlite320_mobilenet_v3_large "
          "retinanet_resnet50_fpn fasterrcnn_resnet50_fpn keypointrcnn_resnet50_fpn encoder lstm").split()
LINK = ("--rate", "93mbit", "--rtt", "2.6ms")  # a robot's Wi-Fi, as the papers have it
TOLERANCE = 1e-3  # of a result's largest value: sums in another order
PATIENCE_S = 1200

COMPARE = """
import sys, numpy
wanted, got, tolerance = numpy.load(sys.argv[1]), numpy.load(sys.argv[2]), float(sys.argv[3])
if wanted.files != got.files: sys.exit("another number of results")
worst = 0.0
for name in wanted.files:
    a, b = wanted[name], got[name]
    if a.shape != b.shape: sys.exit(f"{name} is {b.shape}, not {a.shape}")
    if not a.size: sys.exit(f"{name} is empty")
    if not numpy.isfinite(b).all(): sys.exit(f"{name} is not finite")
lengths = {wanted[name].shape[0] for name in wanted.files}
if len(wanted.files) > 1 and len(lengths) == 1 and lengths != {1}:
    # Detections. Those with scores as good as equal come in any order, and there may be another at the end of the list.
    rows = [numpy.concatenate([d[n].reshape(len(d[n]), -1) / max(float(abs(wanted[n]).max()), 1e-9) for n in d.files], 1)
            for d in (wanted, got)]
    errors = numpy.sort(abs(rows[0][:, None] - rows[1][None]).max(2).min(1))
    worst = float(errors[int(0.98 * (len(errors) - 1))])
else:
    for name in wanted.files:
        worst = max(worst, float(abs(wanted[name] - got[name]).max()) / max(float(abs(wanted[name]).max()), 1e-9))
print(f"{worst:.1e}")
sys.exit(0 if worst <= tolerance else f"off by {worst:.1e}")
"""


def say(text):
    print(f"test_pytorch: {text}", file=sys.stderr, flush=True)


def prepare(work):
    """The interpreter and the pack."""
    home, pack = work / "venv", work / "torch.pack"
    if not (home / "complete").exists():
        say("installing PyTorch")
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([home / "bin/pip", "install", "--quiet", *PACKAGES], check=True)
        (home / "complete").touch()
    if not pack.exists():
        say("making a pack of its kernels")
        subprocess.run([sys.executable, SOURCE / "tools/pytorch_pack.py", "--work", work / "pack", "--output", pack,
                        "--python", home / "bin/python", "--wharf", fixture.BIN / "wharf"], check=True)
    return home / "bin/python", pack


class Trial:
    """What one network does in one way."""

    def __init__(self, python, folder, model):
        self.python, self.folder, self.model = python, pathlib.Path(folder), model
        self.wanted = None  # the processor's results, by number of inferences

    def infer(self, way, words, inferences):
        """Milliseconds of an inference, the median of the second half; counters, if Wharf was there; and its error."""
        results, times, stats = (self.folder / f"{self.model}.{way}.{kind}" for kind in ("npz", "json", "stats"))
        if words:
            words = [fixture.BIN / "wharf", "run", "--stats", stats, *words, "--"]
        command = [*words, self.python, INFERENCE, self.model, "--inferences", inferences, "--output", results,
                   "--json", times, "--device", "cuda" if words else "cpu"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        if done.returncode != 0:
            said = done.stderr.splitlines()
            lines = [line for line in said if "message=" in line]  # Wharf's say more than PyTorch's, which come behind
            lines = lines or [line for line in reversed(said) if "error" in line.lower()] or said[-1:]
            raise AssertionError((lines or [f"exit code {done.returncode}"])[0][:500])
        latencies = json.loads(times.read_text())["latency_ms"]
        found = {"ms": statistics.median(latencies[len(latencies) // 2:])}
        if words:
            counters = json.loads(stats.read_text())
            found.update(waits=counters["blocking_round_trips"], calls=counters["calls"])
            found["error"] = self.compare(inferences, results)
        return found

    def compare(self, inferences, results):
        wanted = self.folder / f"{self.model}.{inferences}.wanted.npz"
        if not wanted.exists():
            self.infer("cpu", [], inferences)
            (self.folder / f"{self.model}.cpu.npz").rename(wanted)
        done = subprocess.run([self.python, "-c", COMPARE, wanted, results, str(TOLERANCE)], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr.strip())
        return float(done.stdout)


def try_model(trial, pack, server, link, breaking, inferences):
    """A row, in which what failed says why."""
    over = ["--server", link.address]
    few = max(2, inferences // 2)
    ways = [("local", ["--local", "--kernel-pack", pack, "--mode", "posted"], few),
            ("percall", ["--server", server.address, "--mode", "percall"], 2),
            ("posted", [*over, "--mode", "posted"], inferences), ("posted_few", [*over, "--mode", "posted"], few),
            ("replay", over, inferences), ("replay_few", over, few),
            ("cut", ["--server", breaking.address], inferences)]
    row = {"model": trial.model, "cpu": trial.infer("cpu", [], few), "failed": {}}
    for way, words, count in ways:
        say(f"{trial.model}, {way}")
        try:
            row[way] = trial.infer(way, words, count)
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            row["failed"][way] = str(failure)
            say(f"{trial.model}, {way}: {failure}")
    for way in ("posted", "replay"):  # loading is not counted
        if way in row and f"{way}_few" in row:
            for key in ("waits", "calls"):
                row[way][f"{key}_each"] = (row[way][key] - row[f"{way}_few"][key]) / (inferences - few)
            row[way]["waits_loading"] = row[f"{way}_few"]["waits"] - few * row[way]["waits_each"]
    return row


def show(rows):
    """Milliseconds and waits of an inference, by way; the worst error beside the processor's results."""
    print("| network | calls | processor ms | local ms | posted ms | waits | replay ms | waits | loading waits | error |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for row in rows:
        def of(way, key, places=1, row=row):
            return f"{row[way][key]:.{places}f}" if key in row.get(way, {}) else "–"
        worst = max((row[way]["error"] for way in row if isinstance(row[way], dict) and "error" in row[way]), default=0)
        verdict = "; ".join(f"{way}: {why}" for way, why in row["failed"].items()) or f"{worst:.0e}"
        print(f"| {row['model']} | {of('posted', 'calls_each', 0)} | {of('cpu', 'ms')} | {of('local', 'ms')} | "
              f"{of('posted', 'ms')} | {of('posted', 'waits_each')} | {of('replay', 'ms')} | "
              f"{of('replay', 'waits_each')} | {of('posted', 'waits_loading', 0)} | {verdict} |")


def test_cuda12(home, pack):
    with tempfile.TemporaryDirectory() as folder:
        try:
            pytorch_cuda12.test(fixture.BIN / "wharf", home, pack, folder)
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            say(failure)
            return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=SOURCE / "build/pytorch", metavar="DIR")
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="MODEL")
    parser.add_argument("--inferences", type=int, default=6, metavar="N")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="the rows")
    parser.add_argument("--cuda12", action="store_true", help="PyTorch 2.10, of CUDA 12 (3.1 GB to install), instead")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    python, pack = prepare(work)
    if options.cuda12:
        return test_cuda12(work.parent / "pytorch12/venv", pack)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        server = fixture.Server(folder, "--kernel-pack", pack, "--cache-dir", work / "cache")
        link = fixture.Link(folder, server.address, *LINK)
        breaking = fixture.Link(folder, server.address, *LINK, "--cuts", "2s")
        try:
            for model in options.models:
                started = time.monotonic()
                rows.append(try_model(Trial(python, folder, model), pack, server, link, breaking, options.inferences))
                say(f"{model}: {time.monotonic() - started:.0f} s")
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=1))
        finally:
            breaking.drop()
            link.drop()
            server.stop()
    show(rows)
    return 1 if any(row["failed"] for row in rows) else 0


if __name__ == "__main__":
    os.environ.setdefault("WHARF_BIN", str(SOURCE / "build/default/bin"))
    os.environ.setdefault("WHARF_PROGRAMS", str(SOURCE / "build/default/cuda"))
    sys.path.insert(0, str(SOURCE / "tests/e2e"))
    import pytorch_cuda12
    import wharf_fixture as fixture
    sys.exit(main())

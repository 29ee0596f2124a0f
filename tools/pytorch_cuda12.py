"""`tools/test_pytorch.py --cuda12`: PyTorch of CUDA 12 from PyPI, unmodified, on the software device.

No pack is made of its kernels. What CUDA's libraries do must work without one, and its kernels must be refused with a
line that names one and says what to do. With a pack of a later PyTorch those work whose source and parameters are the
same there, and the others must be refused as being of another version.
"""

import json
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = SOURCE / "examples/pytorch/operations.py"
# Of NVIDIA's packages those whose libraries PyTorch names and Wharf does not have.
PACKAGES = ("torch==2.10.0", "torchvision==0.25.0", "nvidia-cuda-cupti-cu12==12.8.90", "nvidia-cufile-cu12==1.13.1.3",
            "nvidia-cusparselt-cu12==0.7.1", "nvidia-nccl-cu12==2.27.5", "nvidia-nvshmem-cu12==3.4.5")
THEIRS = ("filelock", "fsspec", "jinja2", "networkx", "numpy", "pillow", "sympy", "typing-extensions")
KERNELS = {"convolution, bias", "add", "relu", "softmax", "vgg11", "resnet18"}
OTHER_IN_PACK = {"softmax", "resnet18"}  # of another version there
PATIENCE_S = 1200


def prepare(home):
    if (home / "complete").exists():
        return
    print("test_pytorch: installing PyTorch of CUDA 12", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    for words in (["--no-deps", *PACKAGES], THEIRS):
        subprocess.run([home / "bin/pip", "install", "--quiet", *words], check=True)
    (home / "complete").touch()


def failed(wharf, home, options, results):
    """The operations that did not work, and what was said on standard error."""
    command = [wharf, "run", "--local", *options, "--", home / "bin/python", OPERATIONS, "--json", results]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    print(done.stdout, end="")
    if done.returncode != 0:
        raise AssertionError((done.stderr.splitlines() or [f"exit code {done.returncode}"])[-1])
    return {name for name, why in json.loads(results.read_text()).items() if why is not None}, done.stderr


def test(wharf, home, pack, folder):
    """Throws AssertionError."""
    prepare(home)
    results = pathlib.Path(folder) / "operations.json"
    for what, options, refused, line in (
            ("without a pack", [], KERNELS, "the program holds no PTX, only machine code for"),
            ("with a later PyTorch's pack", ["--kernel-pack", pack], OTHER_IN_PACK, "it is made of another version")):
        print(f"\n{what}:", flush=True)
        names, said = failed(wharf, home, options, results)
        if names != refused:
            raise AssertionError(f"{what} {sorted(names)} failed, not {sorted(refused)}")
        lines = [text for text in said.splitlines() if line in text and "kernel _Z" in text and "pack" in text]
        if not lines:
            raise AssertionError(f"{what} no line names a kernel and says what to do")
        print(lines[0][:1000])

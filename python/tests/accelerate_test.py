"""What the Python package does with PyTorch: `make test-python`. WHARF_BIN says where Wharf's programs are."""

import copy
import os
import pathlib
import re
import signal
import tempfile
import unittest
import warnings
from unittest import mock

import torch

import wharf
from wharf import _torch

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SERVER = ["--device", "soft", "--threads", "1"]
OPTIONS = {"planner": "server-only", "threads": 1, "slack_ms": 1e6}


class Net(torch.nn.Module):
    def __init__(self, scale=2.0):
        super().__init__()
        self.scale = scale
        self.first, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.last = torch.nn.Linear(8, 5)

    def forward(self, x):
        features = torch.relu(self.norm(self.first(x))) * self.scale
        return {"scores": self.last(features.mean((2, 3))), "maps": (features, features.amax(1))}


class Random(torch.nn.Module):
    def forward(self, x):
        return x * (1 + torch.rand(1).item())


class Unexportable(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.svd(x.flatten(2))[1]


def leaves(outputs):
    return [outputs["scores"], *outputs["maps"]]


class AccelerateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        variables = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder.name})
        variables.start()
        self.addCleanup(variables.stop)
        torch.manual_seed(1)
        self.module, self.x = Net().eval(), torch.rand(1, 3, 16, 16)

    def serve(self, listen=None):
        server = wharf.serve(listen, options=[*SERVER, "--cache-dir", str(self.folder / "server")])
        self.addCleanup(server.close)
        return server

    def accelerate(self, server, module=None, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that a machine was busy
            fast = wharf.accelerate(module or self.module, self.x, server.address, **{**OPTIONS, **options})
        self.addCleanup(fast.close)
        return fast

    def assert_alike(self, fast, x=None):
        x = self.x if x is None else x
        outputs, expected = fast(x), self.module(x)
        self.assertEqual(type(outputs["maps"]), tuple)
        for one, other in zip(leaves(outputs), leaves(expected)):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)

    def assert_warns_once(self, fast, why, x=None):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                self.assert_alike(fast, x)
        self.assertEqual(len(caught), 1, caught)
        self.assertIn(why, str(caught[0].message))
        self.assertEqual(caught[0].category, RuntimeWarning)

    def test_computes_what_the_module_computes_with_the_server(self):
        fast = self.accelerate(self.serve())
        self.assert_alike(fast)
        self.assertFalse(fast.report().alone)
        kept = fast(self.x)["scores"].clone()
        fast(self.x * 2)
        torch.testing.assert_close(fast(self.x)["scores"], kept)
        self.assertFalse(fast(self.x)["scores"].requires_grad)
        self.assertEqual([name for name, _ in fast.module.named_parameters()],
                         [name for name, _ in self.module.named_parameters()])

    def test_is_exported_once(self):
        server = self.serve()
        self.accelerate(server)
        with mock.patch.object(_torch, "_export", side_effect=AssertionError("exported again")):
            self.assert_alike(self.accelerate(server))
            self.assert_alike(self.accelerate(server, copy.deepcopy(self.module)))
        with mock.patch.object(_torch, "_export", wraps=_torch._export) as export:
            self.module = Net(scale=3.0).eval()
            self.assert_alike(self.accelerate(server))
            self.assertEqual(export.call_count, 1)
            # What is kept and does not compute what the module computes is not used.
            [damaged] = [file for file in (self.folder / "wharf" / "modules").iterdir()
                         if file.stem == _torch._hash(self.module, self.x)]
            [other] = [file for file in damaged.parent.iterdir() if file != damaged]
            damaged.write_bytes(other.read_bytes())
            self.assert_alike(self.accelerate(server))
            self.assertEqual(export.call_count, 2)

    def test_everything_that_counts_is_in_the_hash(self):
        known = {_torch._hash(self.module, self.x)}
        self.assertEqual(_torch._hash(copy.deepcopy(self.module), self.x), known.copy().pop())

        def changed(change, x=self.x):
            module = copy.deepcopy(self.module)
            change(module)
            one = _torch._hash(module, x)
            self.assertNotIn(one, known)
            known.add(one)
        changed(lambda module: setattr(module, "scale", 2.5))
        changed(lambda module: setattr(module, "other", torch.ones(2)))
        changed(lambda module: module.last.weight.data.mul_(2))
        changed(lambda module: module.norm.running_mean.add_(1))
        changed(lambda module: setattr(module.norm, "eps", 1e-3))
        changed(lambda module: setattr(module, "last", torch.nn.Sequential(module.last)))
        changed(lambda _: None, torch.rand(1, 3, 16, 8))
        changed(lambda _: None, self.x.double())

    def test_the_module_computes_while_the_server_is_gone(self):
        with wharf.serve("127.0.0.1:0", options=SERVER) as first:
            fast, listen = self.accelerate(first), first.address
            self.assert_alike(fast)
        while fast._model.connected:
            pass
        with mock.patch.object(fast._model, "run", side_effect=AssertionError("not the module")):
            self.assert_warns_once(fast, "the server is gone")
        self.serve(listen)
        while not fast._model.connected:
            pass
        with mock.patch.object(fast.module, "forward", side_effect=AssertionError("the module")):
            fast(self.x)
        self.assertFalse(fast.report().alone)

    def test_the_module_computes_when_the_engine_is_killed(self):
        fast = self.accelerate(self.serve())
        os.kill(fast._model._engine.pid, signal.SIGKILL)
        self.assert_warns_once(fast, "SIGKILL")

    def test_the_module_computes_what_the_model_cannot(self):
        server = self.serve()
        self.assert_warns_once(self.accelerate(server), "shape", torch.rand(1, 3, 8, 8))
        wants = self.x.clone().requires_grad_()
        self.assert_warns_once(self.accelerate(server), "gradient", wants)
        fast = self.accelerate(server).train()
        with self.assertWarnsRegex(RuntimeWarning, "training"):
            fast(self.x)
        fast.eval()
        with mock.patch.object(fast.module, "forward", side_effect=AssertionError("the module")):
            fast(self.x)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assert_alike(self.accelerate(server), wants)

    def test_says_what_cannot_be_accelerated(self):
        def refused(kind, why, module, x=self.x, address="unix:/nobody"):
            with self.assertRaisesRegex(kind, why) as raised:
                wharf.accelerate(module, x, address, **OPTIONS)
            self.assertNotIn("\n", str(raised.exception))
        refused(wharf.InvalidArgument, "eval()", Net())
        refused(wharf.InvalidArgument, "one input tensor", self.module, x=(self.x, self.x))
        refused(wharf.InvalidArgument, "server", self.module, address="")
        refused(wharf.Unavailable, "no server answers", self.module)
        server = self.serve()
        refused(wharf.Unsupported, "svd", Unexportable().eval(), address=server.address)
        refused(wharf.Error, "something else", Random().eval(), address=server.address)
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            copy.deepcopy(self.accelerate(server))

    def test_models_take_tensors(self):
        onnx = _torch._export(self.module, self.x)
        with wharf.load(onnx, threads=1) as model:
            for x in (self.x, self.x.to(memory_format=torch.channels_last)):
                for one, other in zip(model(x), leaves(self.module(self.x))):
                    torch.testing.assert_close(torch.from_numpy(one), other, rtol=1e-3, atol=1e-4)
            with self.assertRaisesRegex(wharf.InvalidArgument, "detach"):
                model(self.x.clone().requires_grad_())
            with self.assertRaisesRegex(wharf.InvalidArgument, "float64"):
                model(self.x.double())

    def test_the_tutorial(self):
        text = (SOURCE / "docs" / "python.md").read_text()
        [code] = re.findall(r"^```python torch\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        (self.folder / "token").write_text("0123456789abcdef\n")
        os.chdir(self.folder)
        with wharf.serve("127.0.0.1:0", token_file="token", options=SERVER) as server:
            exec(code.replace("edge:7070", server.address), {})  # pylint: disable=exec-used


if __name__ == "__main__":
    unittest.main()

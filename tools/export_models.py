#!/usr/bin/python3
"""Exports the models of the split computing papers to ONNX, with random weights, and what PyTorch makes of one input.

    apt-get install python3-torchvision
    tools/export_models.py out/models                     all of them (some 2 GB)
    tools/export_models.py out/models resnet18 vit_b_16   some
    tools/export_models.py --list
    tools/export_models.py --keep-batch-norms out/models  as trained: batch norms are not folded into convolutions
    tools/export_models.py --time resnet18                CPU milliseconds of an inference in PyTorch eager

Every model becomes a directory as ONNX's own backend tests have them: NAME/model.onnx, and in NAME/test_data_set_0
input_0.pb and output_0.pb (output_1.pb ...), so that whatever runs those tests checks these too. Weights are drawn from
a fixed seed and batch norms get statistics that are not the identity. The batch is a free dimension named "batch".
"""
import argparse
import inspect
import json
import pathlib
import statistics
import sys
import time

import torch
import torchvision
from torch import nn
from torch.onnx import TrainingMode
from torchvision.models import detection, segmentation

CLASSIFIERS = [
    "vgg16", "vgg19", "vgg16_bn", "vgg19_bn", "resnet18", "resnet50", "resnet101", "resnext50_32x4d", "resnext101_32x8d",
    "regnet_x_400mf", "regnet_y_400mf", "regnet_x_16gf", "wide_resnet50_2", "densenet121", "convnext_tiny",
    "convnext_base", "convnext_large", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0", "googlenet",
    "vit_b_16",
]


class FirstOf(nn.Module):
    """The one output of a segmentation network that counts."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        return self.model(image)["out"]


class Pyramid(nn.Module):
    """Backbone, feature pyramid and, if there are any, the dense heads of a detector; the rest of it is not a network."""

    def __init__(self, detector):
        super().__init__()
        self.backbone = detector.backbone
        self.head = getattr(detector, "head", None)
        self.rpn = detector.rpn.head if hasattr(detector, "rpn") else None

    def forward(self, image):
        features = list(self.backbone(image).values())
        if self.head is not None:
            outputs = self.head(features)
            return tuple(features) + (outputs["cls_logits"], outputs["bbox_regression"])
        scores, boxes = self.rpn(features)
        return tuple(features) + tuple(scores) + tuple(boxes)


class ConvSilu(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=1, stride=1):
        super().__init__(nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, bias=False), nn.BatchNorm2d(outputs),
                         nn.SiLU())


class CrossStage(nn.Module):
    """Half of the channels go through residual bottlenecks, the other half around them."""

    def __init__(self, inputs, outputs, depth, shortcut=True):
        super().__init__()
        half = outputs // 2
        self.through, self.around = ConvSilu(inputs, half), ConvSilu(inputs, half)
        self.blocks = nn.ModuleList(
            nn.Sequential(ConvSilu(half, half), ConvSilu(half, half, 3)) for _ in range(depth))
        self.merge, self.shortcut = ConvSilu(outputs, outputs), shortcut

    def forward(self, x):
        y = self.through(x)
        for block in self.blocks:
            y = y + block(y) if self.shortcut else block(y)
        return self.merge(torch.cat([y, self.around(x)], 1))


class PoolingPyramid(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.reduce, self.merge = ConvSilu(channels, channels // 2), ConvSilu(channels * 2, channels)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        levels = [self.reduce(x)]
        for _ in range(3):
            levels.append(self.pool(levels[-1]))
        return self.merge(torch.cat(levels, 1))


class YoloStyle(nn.Module):
    """A one-stage detector: cross-stage backbone, pooling pyramid, top-down and bottom-up neck, three decoded heads."""

    def __init__(self, width=32, classes=80, anchors=3):
        super().__init__()
        w, self.anchors, self.fields = width, anchors, classes + 5
        self.stem = nn.Sequential(ConvSilu(3, w, 6, 2), ConvSilu(w, 2 * w, 3, 2), CrossStage(2 * w, 2 * w, 1))
        self.down3 = nn.Sequential(ConvSilu(2 * w, 4 * w, 3, 2), CrossStage(4 * w, 4 * w, 2))
        self.down4 = nn.Sequential(ConvSilu(4 * w, 8 * w, 3, 2), CrossStage(8 * w, 8 * w, 3))
        self.down5 = nn.Sequential(ConvSilu(8 * w, 16 * w, 3, 2), CrossStage(16 * w, 16 * w, 1), PoolingPyramid(16 * w))
        self.lateral5, self.up4 = ConvSilu(16 * w, 8 * w), CrossStage(16 * w, 8 * w, 1, False)
        self.lateral4, self.up3 = ConvSilu(8 * w, 4 * w), CrossStage(8 * w, 4 * w, 1, False)
        self.back3, self.out4 = ConvSilu(4 * w, 4 * w, 3, 2), CrossStage(8 * w, 8 * w, 1, False)
        self.back4, self.out5 = ConvSilu(8 * w, 8 * w, 3, 2), CrossStage(16 * w, 16 * w, 1, False)
        self.heads = nn.ModuleList(nn.Conv2d(c * w, anchors * self.fields, 1) for c in (4, 8, 16))
        self.larger = nn.Upsample(scale_factor=2, mode="nearest")

    def decode(self, x):
        batch, _, rows, columns = x.shape
        x = x.view(batch, self.anchors, self.fields, rows, columns).permute(0, 1, 3, 4, 2).sigmoid()
        centre, size, rest = x.split((2, 2, self.fields - 4), 4)
        return torch.cat([centre * 2 - 0.5, (size * 2) ** 2, rest], 4).view(batch, -1, self.fields)

    def forward(self, image):
        c3 = self.down3(self.stem(image))
        c4 = self.down4(c3)
        l5 = self.lateral5(self.down5(c4))
        l4 = self.lateral4(self.up4(torch.cat([self.larger(l5), c4], 1)))
        p3 = self.up3(torch.cat([self.larger(l4), c3], 1))
        p4 = self.out4(torch.cat([self.back3(p3), l4], 1))
        p5 = self.out5(torch.cat([self.back4(p4), l5], 1))
        return torch.cat([self.decode(head(p)) for head, p in zip(self.heads, (p3, p4, p5))], 1)


class SceneCompletion(nn.Module):
    """Semantic scene completion of a voxel grid: a 2D U-net over the ground plane, heights as channels, and a 3D head."""

    def __init__(self, heights=16, width=16, classes=12):
        super().__init__()
        h, w = heights, width
        self.down = nn.ModuleList([self.block(h, h), self.block(h, 2 * w), self.block(2 * w, 4 * w)])
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * w, 2 * w, 4, 2, 1), nn.ConvTranspose2d(2 * w, h, 6, 2, 2)])
        self.merge = nn.ModuleList([self.block(4 * w, 2 * w), self.block(2 * h, h)])
        self.head = nn.Sequential(nn.Conv3d(1, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(),
                                  nn.Conv3d(8, 8, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv3d(8, classes, 1))

    @staticmethod
    def block(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1),
                             nn.ReLU())

    def forward(self, voxels):
        levels = [self.down[0](voxels)]
        for block in self.down[1:]:
            levels.append(block(self.pool(levels[-1])))
        x = levels[2]
        for up, merge, skip in zip(self.up, self.merge, (levels[1], levels[0])):
            x = merge(torch.cat([up(x), skip], 1))
        return self.head(x.unsqueeze(1))


class Tiny(nn.Module):
    """Some of everything, small enough to be kept as test data."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.depthwise = nn.Sequential(nn.Conv2d(8, 8, 5, 1, 2, groups=8, bias=False), nn.BatchNorm2d(8), nn.SiLU())
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())
        self.pool, self.up = nn.MaxPool2d(3, 2, 1), nn.ConvTranspose2d(8, 8, 4, 2, 1)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.linear = nn.LayerNorm(8), nn.Linear(8, 10)

    def forward(self, image):
        x = self.stem(image)
        y = self.depthwise(x)
        y = y * self.squeeze(y) + x
        y = torch.cat([self.up(self.pool(y)), nn.functional.interpolate(self.pool(x), scale_factor=2.0)], 1)
        tokens = (y[:, :8] + y[:, 8:]).flatten(2).transpose(1, 2)
        tokens = self.norm(tokens + self.attention(tokens, tokens, tokens, need_weights=False)[0])
        return self.linear(tokens.mean(1))


def convolution(inputs, outputs, kernel, stride=1, groups=1, activation=nn.ReLU):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Residual(nn.Module):
    """A block of a ResNet."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(convolution(inputs, outputs, 3, stride), convolution(outputs, outputs, 3, activation=None))
        self.shortcut = convolution(inputs, outputs, 1, stride, activation=None) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class Bottleneck(nn.Module):
    """An inverted bottleneck of a MobileNet: a depthwise convolution between two pointwise ones, squeeze and excitation."""

    def __init__(self, channels, expanded):
        super().__init__()
        self.expand = nn.Sequential(convolution(channels, expanded, 1, activation=nn.Hardswish),
                                    convolution(expanded, expanded, 5, groups=expanded, activation=nn.Hardswish))
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(expanded, 8, 1), nn.ReLU(),
                                     nn.Conv2d(8, expanded, 1), nn.Hardsigmoid())
        self.project = convolution(expanded, channels, 1, activation=None)

    def forward(self, x):
        y = self.expand(x)
        return x + self.project(y * self.squeeze(y))


class Encoder(nn.Module):
    """A transformer's encoder over patches of an image, with a learnt token and learnt positions."""

    def __init__(self, width=24, heads=3, layers=2):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token, self.positions = nn.Parameter(torch.randn(1, 1, width)), nn.Parameter(torch.randn(1, 13, width))
        self.attention = nn.ModuleList(nn.MultiheadAttention(width, heads, batch_first=True) for _ in range(layers))
        self.mix = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(),
                                               nn.Linear(2 * width, width)) for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers + 1))
        self.head = nn.Linear(width, 10)

    def forward(self, image):
        patches = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(patches.shape[0], -1, -1), patches], 1) + self.positions
        for attention, mix, norm in zip(self.attention, self.mix, self.norm):
            y = norm(x)
            x = x + attention(y, y, y, need_weights=False)[0]
            x = x + mix(x)
        return self.head(self.norm[-1](x)[:, 0]).softmax(1)


class Decoder(nn.Module):
    """An hourglass: strided convolutions, then every way up that there is, beside what the levels had; a map comes out."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([convolution(3, 8, 3), convolution(8, 16, 3, 2), convolution(16, 24, 3, 2)])
        self.up = nn.ConvTranspose2d(24, 16, 2, 2)
        self.merge = nn.ModuleList([convolution(32, 16, 3), convolution(24, 8, 3, activation=nn.ELU)])
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, image):
        fine = self.down[0](image)
        middle = self.down[1](fine)
        x = self.merge[0](torch.cat([self.up(self.down[2](middle)), middle], 1))
        x = nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        x = self.head(self.merge[1](torch.cat([x, fine], 1)))
        return torch.sigmoid(nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"))


# Kept in wharf/exec/testdata, with what PyTorch 1.13.1 made of them, one of each kind:
#   tools/export_models.py wharf/exec/testdata small_mobile small_encoder small_decoder
#   tools/export_models.py --keep-batch-norms wharf/exec/testdata small_residual
SMALL = {
    "tiny": (Tiny, (3, 24, 32)),
    "small_residual": (lambda: nn.Sequential(convolution(3, 16, 7, 2), nn.MaxPool2d(3, 2, 1), Residual(16, 16, 1),
                                             Residual(16, 32, 2), Residual(32, 32, 1), nn.AdaptiveAvgPool2d(1),
                                             nn.Flatten(), nn.Linear(32, 10)), (3, 48, 64)),
    "small_mobile": (lambda: nn.Sequential(convolution(3, 16, 3, 2, activation=nn.Hardswish), Bottleneck(16, 64),
                                           convolution(16, 32, 3, 2, 16, nn.ReLU6), Bottleneck(32, 96),
                                           nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)), (3, 48, 64)),
    "small_encoder": (Encoder, (3, 24, 32)),
    "small_decoder": (Decoder, (3, 24, 32)),
}


def classifier(name):
    extra = {"aux_logits": False, "init_weights": True} if name == "googlenet" else {}
    return lambda: getattr(torchvision.models, name)(weights=None, **extra)


# name: (what makes it, shape of the input of a batch of one)
MODELS = {name: (classifier(name), (3, 224, 224)) for name in CLASSIFIERS}
MODELS.update({
    "fcn_resnet50": (lambda: FirstOf(segmentation.fcn_resnet50(weights=None, weights_backbone=None)), (3, 256, 320)),
    "deeplabv3_resnet50": (lambda: FirstOf(segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None)),
                           (3, 256, 320)),
    "retinanet_resnet50_fpn": (lambda: Pyramid(detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None)),
                               (3, 256, 320)),
    "fasterrcnn_resnet50_fpn": (lambda: Pyramid(detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)),
                                (3, 256, 320)),
    "yolo_style": (YoloStyle, (3, 384, 640)),
    "scene_completion": (SceneCompletion, (16, 64, 64)),
})
MODELS.update(SMALL)


def make(name):
    """The model, its parameters and its input: the same at every call."""
    torch.manual_seed(1)
    maker, shape = MODELS[name]
    model = maker().eval()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm2d, nn.BatchNorm3d)):
            nn.init.uniform_(module.running_mean, -0.1, 0.1)
            nn.init.uniform_(module.running_var, 0.8, 1.2)
            nn.init.uniform_(module.weight, 0.8, 1.2)
            nn.init.uniform_(module.bias, -0.1, 0.1)
    return model, torch.rand((1,) + shape) * 2 - 1


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def tensor_proto(tensor):
    """ONNX's TensorProto: dims (1), data_type (2) float, raw_data (9)."""
    raw = tensor.detach().contiguous().numpy().astype("<f4").tobytes()
    dims = b"".join(b"\x08" + varint(n) for n in tensor.shape)
    return dims + b"\x10\x01" + b"\x4a" + varint(len(raw)) + raw


def export(name, directory, keep_batch_norms):
    model, image = make(name)
    data = directory / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        outputs = model(image)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    names = [f"output_{i}" for i in range(len(outputs))]
    # Newer releases take another way, which needs packages of its own, unless told not to.
    by_trace = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    # Not under no_grad: attention would take a fused path that has no name in ONNX.
    torch.onnx.export(model, image, str(directory / name / "model.onnx"), opset_version=17, input_names=["input"],
                      output_names=names, dynamic_axes={n: {0: "batch"} for n in ["input"] + names},
                      training=TrainingMode.PRESERVE if keep_batch_norms else TrainingMode.EVAL, **by_trace)
    (data / "input_0.pb").write_bytes(tensor_proto(image))
    for i, output in enumerate(outputs):
        (data / f"output_{i}.pb").write_bytes(tensor_proto(output))


def measure(name, repeat):
    """CPU time of single inferences on one thread, in the default layout and in channels_last; other programs on the
    machine disturb it less than time on the wall."""
    torch.set_num_threads(1)
    model, image = make(name)
    row = {"model": name}
    layouts = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
    if any(parameter.dim() == 5 for parameter in model.parameters()):
        del layouts["channels_last"]  # which is for images
    with torch.inference_mode():
        for label, layout in layouts.items():
            twin, x = model.to(memory_format=layout), image.to(memory_format=layout)
            times = []
            for _ in range(repeat + 2):
                begin = time.process_time()
                twin(x)
                times.append((time.process_time() - begin) * 1e3)
            row[label + "_cpu_ms"] = round(statistics.median(times[2:]), 3)
    print(json.dumps(row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="DIRECTORY [NAME ...]")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--time", action="store_true", help="the words are names; measure instead of exporting")
    parser.add_argument("--keep-batch-norms", action="store_true", help="as the papers count operators")
    parser.add_argument("--repeat", type=int, default=20)
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(MODELS))
        return
    names = arguments.words if arguments.time else arguments.words[1:] or list(MODELS)
    unknown = [name for name in names if name not in MODELS]
    if unknown or not arguments.words:
        sys.exit(f"export_models: no model {', '.join(unknown)}; --list" if unknown else "export_models: say where to")
    for name in names:
        if arguments.time:
            measure(name, arguments.repeat)
        else:
            print(name, flush=True)
            export(name, pathlib.Path(arguments.words[0]), arguments.keep_batch_norms)


if __name__ == "__main__":
    main()

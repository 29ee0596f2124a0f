"""Networks with random weights, by a seed: nothing is downloaded, and every device has the same."""

import torch
import torchvision

DETECTORS = torchvision.models.list_models(torchvision.models.detection)
SEGMENTERS = torchvision.models.list_models(torchvision.models.segmentation)


def build(name):
    """A network in evaluation mode and the shape of its input: a model of torchvision, `encoder` or `lstm`."""
    torch.manual_seed(1)
    if name == "encoder":
        layer = torch.nn.TransformerEncoderLayer(d_model=256, nhead=8, dim_feedforward=1024, batch_first=True)
        network, shape = torch.nn.TransformerEncoder(layer, num_layers=4), (1, 64, 256)
    elif name == "lstm":
        network, shape = torch.nn.LSTM(input_size=64, hidden_size=128, num_layers=2, batch_first=True), (1, 32, 64)
    elif name in DETECTORS:
        size = {} if name.startswith("ssd") else {"min_size": 320, "max_size": 320}
        size.update({"box_detections_per_img": 20} if "rcnn" in name else {})
        network = torchvision.models.get_model(name, weights=None, weights_backbone=None, **size)
        shape = (1, 3, 320, 320)
    else:
        options = {"weights_backbone": None} if name in SEGMENTERS else {}
        network, shape = torchvision.models.get_model(name, weights=None, **options), (1, 3, 224, 224)
    settle(network.eval(), shape)
    return network, shape


def settle(network, shape):
    """What training would have done, so that results say something: weights that begin as nothing, such as those of
    ViT's head, classes of detectors that differ, and statistics of an input for batch norms, without which what deep
    networks compute grows or vanishes."""
    for name, weights in network.named_parameters():
        if (weights.dim() > 1 and not weights.any()) or name.endswith(("cls_score.weight", "cls_logits.weight")):
            torch.nn.init.normal_(weights, std=0.1)
        if name.endswith("cls_logits.bias"):
            torch.nn.init.constant_(weights, -3)  # so that something is above the threshold
    norms = [layer for layer in network.modules() if isinstance(layer, torch.nn.BatchNorm2d)]
    for layer in norms:
        layer.train()
        layer.momentum = None
    with torch.no_grad():
        network(torch.rand(2, *shape[1:]))
    network.eval()


def picture(shape, index):
    """The index-th of a camera's pictures: bytes, as cameras give them. No two are alike."""
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(index))


def infer(name, network, pixels, kind):
    """What the network makes of a picture on its device: tensors, there."""
    values = pixels.to(kind) / 255
    return flat(network(list(values) if name in DETECTORS else values))


def flat(results):
    """The tensors in what a network returns."""
    if isinstance(results, torch.Tensor):
        return [results]
    values = results.values() if isinstance(results, dict) else results
    return [tensor for value in values for tensor in flat(value)]

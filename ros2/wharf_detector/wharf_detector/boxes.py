"""What detectors find, from the arrays that they put out.

Known formats, of one picture; boxes are in pixels of the model's input:
- "centers": scores [1, classes, rows, columns] and boxes [1, 4, rows, columns], left, top, right, bottom: cells that
  score more than their neighbours are centres (Zhou et al., "Objects as Points", 2019), as Wharf's own network has it;
- "yolov8": [1, 4 + classes, boxes]: middle x, middle y, width, height, and a score for each class; also YOLO 11;
- "yolov5": [1, boxes, 5 + classes]: the same, and before the classes' scores that of there being anything; also YOLO 7.
"""

from typing import List, NamedTuple, Sequence, Tuple

import numpy as np

from .pictures import Placement

FORMATS = ("centers", "yolov8", "yolov5")


class Box(NamedTuple):
    """In pixels: of the model's input, or of the picture. `label`: the number of its class."""
    left: float
    top: float
    right: float
    bottom: float
    label: int
    score: float


class Options(NamedTuple):
    """What is kept: scores from here on, at most so much overlap (area shared / area of both) with a better box of the
    class, at most so many."""
    least_score: float = 0.35
    most_overlap: float = 0.5
    most_boxes: int = 100


def format_of(shapes: Sequence[Tuple[int, ...]]) -> str:
    """Of a model whose outputs have these shapes. Raises ValueError: none that is known."""
    if len(shapes) == 2 and all(len(one) == 4 and one[0] == 1 for one in shapes):
        scores, boxes = shapes
        if boxes[1] == 4 and scores[2:] == boxes[2:]:
            return "centers"
    if len(shapes) == 1 and len(shapes[0]) == 3 and shapes[0][0] == 1:
        _, first, second = shapes[0]
        if first > 4 and second > first:
            return "yolov8"
        if second > 5 and first > second:
            return "yolov5"
    raise ValueError(f"outputs of shapes {list(map(list, shapes))} are of no detector that is known; "
                     f"there are {', '.join(FORMATS)}")


def decode(outputs: Sequence[np.ndarray], kind: str, height: int, width: int, options: Options) -> List[Box]:
    """Best first, within the model's input. Numbers that are none, and boxes without area, are left out."""
    candidates_of = {"centers": _centers, "yolov8": _yolov8, "yolov5": _yolov5}[kind]
    sides, labels, scores = candidates_of(outputs, options.least_score)
    sides = np.stack([np.clip(sides[:, 0], 0, width), np.clip(sides[:, 1], 0, height),
                      np.clip(sides[:, 2], 0, width), np.clip(sides[:, 3], 0, height)], axis=1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        good = (sides[:, 2] > sides[:, 0]) & (sides[:, 3] > sides[:, 1])  # false for what is no number
    order = np.flatnonzero(good)[np.argsort(-scores[good], kind="stable")]
    kept = _apart(sides[order], labels[order], options)
    found = order[kept]
    return [Box(left, top, right, bottom, label, score) for (left, top, right, bottom), label, score
            in zip(sides[found].tolist(), labels[found].tolist(), scores[found].tolist())]


def on_picture(boxes: Sequence[Box], placement: Placement, height: int, width: int) -> List[Box]:
    """In pixels of the picture that lay so in the model's input."""
    def x(value: float) -> float:
        return min(max((value - placement.offset_x) / placement.scale_x, 0.0), float(width))

    def y(value: float) -> float:
        return min(max((value - placement.offset_y) / placement.scale_y, 0.0), float(height))

    moved = [one._replace(left=x(one.left), top=y(one.top), right=x(one.right), bottom=y(one.bottom)) for one in boxes]
    return [one for one in moved if one.right > one.left and one.bottom > one.top]


Candidates = Tuple[np.ndarray, np.ndarray, np.ndarray]  # sides [n, 4]: left, top, right, bottom; labels [n]; scores [n]


def _centers(outputs: Sequence[np.ndarray], least_score: float) -> Candidates:
    scores, boxes = outputs[0][0], outputs[1][0]
    rows, columns = scores.shape[1:]
    padded = np.pad(scores, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    with np.errstate(invalid="ignore"):
        peak = scores >= least_score
        for dy in range(3):
            for dx in range(3):
                other = padded[:, dy:dy + rows, dx:dx + columns]
                if (dy, dx) < (1, 1):  # of equal neighbours the first is the peak
                    peak &= ~(other >= scores)
                elif (dy, dx) > (1, 1):
                    peak &= ~(other > scores)
    labels, y, x = np.nonzero(peak)
    return boxes[:, y, x].T, labels, scores[labels, y, x]


def _yolov8(outputs: Sequence[np.ndarray], least_score: float) -> Candidates:
    return _best_classes(outputs[0][0, :4].T, outputs[0][0, 4:].T, least_score)


def _yolov5(outputs: Sequence[np.ndarray], least_score: float) -> Candidates:
    rows = outputs[0][0]
    return _best_classes(rows[:, :4], rows[:, 4:5] * rows[:, 5:], least_score)


def _best_classes(boxes: np.ndarray, classes: np.ndarray, least_score: float) -> Candidates:
    """Of each box its best class. `boxes`: middle x, middle y, width, height."""
    labels = classes.argmax(axis=1)
    scores = classes[np.arange(len(classes)), labels]
    with np.errstate(invalid="ignore"):
        good = scores >= least_score
    middle, half = boxes[good, :2], boxes[good, 2:] / 2
    return np.concatenate([middle - half, middle + half], axis=1), labels[good], scores[good]


def _apart(sides: np.ndarray, labels: np.ndarray, options: Options) -> List[int]:
    """Which are kept of boxes, best first."""
    area = (sides[:, 2] - sides[:, 0]) * (sides[:, 3] - sides[:, 1])
    left = np.arange(len(sides))
    kept: List[int] = []
    while len(left) and len(kept) < options.most_boxes:
        best, others = left[0], left[1:]
        kept.append(int(best))
        shared = (np.minimum(sides[others, 2:], sides[best, 2:]) - np.maximum(sides[others, :2], sides[best, :2]))
        overlap = np.clip(shared, 0, None).prod(axis=1)
        over = overlap / (area[others] + area[best] - overlap) > options.most_overlap
        left = others[~(over & (labels[others] == labels[best]))]
    return kept

"""From what cameras publish (sensor_msgs/Image, sensor_msgs/CompressedImage) to RGB bytes of a model's size.

The names of encodings are those of sensor_msgs/image_encodings.hpp.
"""

import io
from typing import Callable, Dict, NamedTuple, Optional, Tuple

import numpy as np

MOST_PIXELS = 64 << 20  # of a picture that claims more, nothing is believed
_MOST_SEGMENTS = 1000  # of a JPEG before its size


class BadPicture(ValueError):
    """A picture that cannot be read; the text is one line."""


def _named(name: str) -> str:
    """In quotes: who publishes can put anything into it, and logs are read in terminals."""
    return '"' + "".join(letter if letter.isprintable() else "?" for letter in name[:40]) + '"'


class Placement(NamedTuple):
    """Where a picture lies in a model's input: input = offset + scale * picture, of x and of y."""
    scale_x: float
    scale_y: float
    offset_x: float
    offset_y: float


# --- Raw ---

def _grey(pixels: np.ndarray) -> np.ndarray:
    return np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)


def _grey16(pixels: np.ndarray) -> np.ndarray:
    return _grey((pixels >> 8).astype(np.uint8))


def _swapped(pixels: np.ndarray) -> np.ndarray:
    return pixels[..., 2::-1]


def _plain(pixels: np.ndarray) -> np.ndarray:
    return pixels[..., :3]


def _yuv422(pixels: np.ndarray, luma: int) -> np.ndarray:
    """Two bytes a pixel: one is luma, at `luma`; the other is of blue and of red by turns. BT.601, luma from 16 to 235,
    as cameras have it."""
    chroma = pixels[..., 1 - luma].astype(np.float32) - 128
    y = (pixels[..., luma].astype(np.float32) - 16) * (255 / 219)
    blue, red = np.repeat(chroma[:, 0::2], 2, axis=1), np.repeat(chroma[:, 1::2], 2, axis=1)
    rgb = np.stack([y + 1.596 * red, y - 0.392 * blue - 0.813 * red, y + 2.017 * blue], axis=-1)
    return np.clip(np.rint(rgb), 0, 255).astype(np.uint8)


def _uyvy(pixels: np.ndarray) -> np.ndarray:
    return _yuv422(pixels, 1)


def _yuyv(pixels: np.ndarray) -> np.ndarray:
    return _yuv422(pixels, 0)


# Bytes an element, elements a pixel, and what makes RGB of them.
_RAW: Dict[str, Tuple[int, int, Callable[[np.ndarray], np.ndarray]]] = {
    "rgb8": (1, 3, _plain), "bgr8": (1, 3, _swapped), "rgba8": (1, 4, _plain), "bgra8": (1, 4, _swapped),
    "mono8": (1, 1, _grey), "mono16": (2, 1, _grey16), "8UC1": (1, 1, _grey), "8UC3": (1, 3, _swapped),
    "8UC4": (1, 4, _swapped), "yuv422": (1, 2, _uyvy), "uyvy": (1, 2, _uyvy),
    "yuv422_yuy2": (1, 2, _yuyv), "yuyv": (1, 2, _yuyv),
}


def from_raw(encoding: str, height: int, width: int, step: int, big_endian: bool, data: object) -> np.ndarray:
    """RGB, uint8 [height, width, 3], which may be a view of `data` (bytes, array.array, …). `step`: bytes a row."""
    if encoding not in _RAW:
        advice = "; image_proc makes colours of it" if encoding.startswith("bayer") else ""
        raise BadPicture(f'the encoding {_named(encoding)} is none of {", ".join(_RAW)}{advice}')
    size, channels, convert = _RAW[encoding]
    flat = np.frombuffer(data or b"\0", np.uint8)  # type: ignore[call-overload]
    least = width * channels * size
    if not 0 < height * width <= MOST_PIXELS or step < least or flat.size < step * (height - 1) + least:
        raise BadPicture(f"{flat.size} bytes are no {encoding} picture of {width} x {height} with {step} bytes a row")
    if channels == 2 and width % 2:
        raise BadPicture(f"a {encoding} picture is {width} pixels wide, which is odd")
    rows = np.lib.stride_tricks.as_strided(flat, (height, least), (step, 1), writeable=False)
    if size == 2:
        rows = np.ascontiguousarray(rows).view(">u2" if big_endian else "<u2")
    return convert(rows.reshape(height, width, channels))


# --- Compressed ---

Decoder = Callable[[bytes], np.ndarray]  # RGB of a JPEG or PNG; raises whatever it likes


def find_decoder() -> Optional[Decoder]:
    """OpenCV's where it is installed, as on most robots, or Pillow's. None: neither is."""
    return opencv_decoder() or pillow_decoder()


def opencv_decoder() -> Optional[Decoder]:
    """None: not installed."""
    try:
        import cv2  # pylint: disable=import-outside-toplevel
    except ImportError:
        return None

    def decode(data: bytes) -> np.ndarray:
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        if picture is None:
            raise ValueError
        return _swapped(picture)
    return decode


def pillow_decoder() -> Optional[Decoder]:
    """None: not installed."""
    try:
        from PIL import Image  # pylint: disable=import-outside-toplevel
    except ImportError:
        return None
    return lambda data: np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def _claimed_size(data: bytes) -> Optional[Tuple[int, int]]:
    """Width and height, as the header of a JPEG or PNG has them. None: it is neither. Decoders take more formats, some
    of which start programs (EPS), and memory for whatever size a few bytes claim."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    place = 2
    for _ in range(_MOST_SEGMENTS if data[:2] == b"\xff\xd8" else 0):
        marker, length = data[place:place + 2], int.from_bytes(data[place + 2:place + 4], "big")
        if len(marker) < 2 or marker[0] != 0xff or marker[1] < 0xc0 or 0xd0 <= marker[1] <= 0xda or length < 2:
            return None
        if marker[1] <= 0xcf and marker[1] not in (0xc4, 0xc8, 0xcc):  # a frame's header
            frame = data[place + 5:place + 9]
            return int.from_bytes(frame[2:], "big"), int.from_bytes(frame[:2], "big")
        place += 2 + length
    return None


def from_compressed(kind: str, data: bytes, decoder: Optional[Decoder]) -> np.ndarray:
    """RGB, uint8 [height, width, 3]. `kind`: the message's format, like "jpeg" or "rgb8; jpeg compressed bgr8". What
    the picture itself says about its type counts."""
    if "compressedDepth" in kind:
        raise BadPicture("depths are no picture; subscribe to a topic of colours")
    if decoder is None:
        raise BadPicture("compressed pictures want python3-opencv or Pillow, and neither is installed")
    size = _claimed_size(data)
    if size is not None and not 0 < size[0] * size[1] <= MOST_PIXELS:
        raise BadPicture(f"a picture of {size[0]} x {size[1]}, which is nothing or too large")
    try:
        if size is not None:
            return decoder(data)
    except Exception:  # pylint: disable=broad-except  # decoders raise what they like
        pass
    raise BadPicture(f"{len(data)} bytes are no JPEG or PNG, as format {_named(kind)} should be")


# --- To a model's size ---

def fitted(picture: np.ndarray, height: int, width: int, keep_aspect: bool) -> Tuple[np.ndarray, Placement]:
    """The picture, uint8 [height, width, 3], and where it lies in that. Stretched, or with `keep_aspect` as large as
    fits and in the middle, with grey beside it. Bilinear; averaged where a side gets smaller by a whole number."""
    have_height, have_width = picture.shape[:2]
    to_height, to_width = height, width
    if keep_aspect:
        scale = min(height / have_height, width / have_width)
        to_height, to_width = max(1, round(have_height * scale)), max(1, round(have_width * scale))
    top, left = (height - to_height) // 2, (width - to_width) // 2
    placement = Placement(to_width / have_width, to_height / have_height, left, top)
    resized = _resized(picture, to_height, to_width)
    if (to_height, to_width) == (height, width):
        return resized, placement
    whole = np.full((height, width, 3), 114, np.uint8)
    whole[top:top + to_height, left:left + to_width] = resized
    return whole, placement


def _resized(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    for axis, want in enumerate((height, width)):
        times = picture.shape[axis] // want
        if times >= 2 and picture.shape[axis] % want == 0:
            picture = _averaged(picture, axis, times)
    if picture.shape[:2] == (height, width):
        return picture
    y, y_next, y_share = _places(picture.shape[0], height)
    x, x_next, x_share = _places(picture.shape[1], width)
    y_share, x_share = y_share[:, None, None], x_share[None, :, None]
    rows = picture[y] + (picture[y_next].astype(np.float32) - picture[y]) * y_share
    mixed = rows[:, x] + (rows[:, x_next] - rows[:, x]) * x_share
    result: np.ndarray = np.rint(mixed).astype(np.uint8)
    return result


def _averaged(picture: np.ndarray, axis: int, times: int) -> np.ndarray:
    shape = list(picture.shape)
    shape[axis:axis + 1] = [shape[axis] // times, times]
    return np.rint(picture.reshape(shape).mean(axis=axis + 1, dtype=np.float32)).astype(np.uint8)


def _places(have: int, want: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each pixel of `want`: the two between which its middle lies, and how far on the way to the second."""
    middle = np.clip((np.arange(want, dtype=np.float32) + 0.5) * (have / want) - 0.5, 0, have - 1)
    first = middle.astype(np.intp)
    return first, np.minimum(first + 1, have - 1), middle - first

"""Pictures from outside: decoded within limits, fitted to a run's encoder; and what is wrong with a request."""

from __future__ import annotations

import io
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from hatchel.core.errors import HatchelError

BYTES = 8 << 20
"""A larger file is refused before it is read."""
PIXELS, SIDE = 24_000_000, 20_000
"""A picture with more, or a longer side, is refused before it is decoded: a small file can hold a very large one."""
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")
"""By content, whatever the file's name or declared type say."""

Pixels = NDArray[np.uint8]


class RequestError(HatchelError):
    """One line for the page, and an HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def opened(content: bytes) -> Image.Image:
    """The picture in some bytes as RGB, upright, transparent parts black; or an error."""
    if not content:
        raise RequestError(400, "the upload is empty; choose an image file")
    if len(content) > BYTES:
        raise RequestError(413, f"the file is larger than {BYTES >> 20} MB; choose a smaller image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is lower
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                if image.width * image.height > PIXELS or max(image.size) > SIDE:
                    most = f"at most {PIXELS:,} pixels, {SIDE:,} on a side"
                    raise RequestError(413, f"{image.width} x {image.height} is too large; {most}")
                image.verify()
            # verify() leaves the picture unusable, and does not look at the pixels themselves.
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                image.load()
                upright = ImageOps.exif_transpose(image).convert("RGBA")
    except UnidentifiedImageError:
        raise RequestError(415, f"this is not an image that can be read; give one of {', '.join(FORMATS)}") from None
    except Image.DecompressionBombError:
        raise RequestError(413, f"the image is too large; at most {PIXELS:,} pixels") from None
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, TypeError, MemoryError) as error:
        raise RequestError(422, f"the image is broken or cut short ({error}); save it again as PNG") from None
    black = Image.new("RGBA", upright.size, (0, 0, 0, 255))
    return Image.alpha_composite(black, upright).convert("RGB")


def fitted(image: Image.Image, shape: tuple[int, ...]) -> Pixels:
    """The largest centred part of the right proportions, resized: (H, W, C) for a run's (C, H, W)."""
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise RequestError(422, f"pictures cannot be fitted to this run's items of shape {shape}; pick an item instead")
    channels, height, width = shape
    small = ImageOps.fit(image.convert("RGB" if channels == 3 else "L"), (width, height), Image.Resampling.LANCZOS)
    return np.asarray(small, dtype=np.uint8).reshape(height, width, channels)


def as_image(pixels: Pixels) -> Image.Image:
    """Pixels (H, W, C) as a picture: grey, or the first three channels."""
    return Image.fromarray(pixels[..., 0] if pixels.shape[2] < 3 else np.ascontiguousarray(pixels[..., :3]))

"""The same task for Python: free space, by the rule of free_space.cc. docs/ar-tasks.md explains it."""

import numpy as np
import wharf

MOST_SHIFT = 40  # columns between two frames, either way
MOST_ROWS = 6  # rows
AROUND = 8  # rows above and below the end of the free space that are compared
ROW_PRICE = 0.5  # of a grey value, for each row: where nothing is seen nothing moves


def grey(picture):
    return picture.astype(np.float32) @ np.array([0.25, 0.5, 0.25], np.float32)


def shift_of(before, after):
    """How many columns further to the left things are in `after`, by every third row's mean."""
    before, after = (3 * one[::3].sum(axis=0) / len(one) for one in (before, after))
    width = len(after)

    def difference(shift):
        begin, end = max(0, -shift), min(width, width - shift)
        return np.abs(after[begin:end] - before[begin + shift:end + shift]).mean()
    return min(range(-MOST_SHIFT, MOST_SHIFT + 1), key=difference)


def rows_down(before, after, row):
    """How many rows further down what was around `row` is: of means by row."""
    most = len(before) - 1
    rows = np.arange(row - AROUND, row + AROUND + 1)
    around = before[np.clip(rows, 0, most)]
    downs = np.arange(-MOST_ROWS, MOST_ROWS + 1)
    moved = after[np.clip(rows + downs[:, None], 0, most)]
    return int(downs[np.argmin(np.abs(moved - around).mean(axis=1) + ROW_PRICE * np.abs(downs))])


class FreeSpace(wharf.Tracker):
    """For each strip of the picture, how far up the ground reaches, as a share of the height: float32 [strips]."""

    def read(self, outputs, frame):
        [free] = outputs
        if free.ndim != 2 or free.shape[0] != 1 or not 1 <= free.shape[1] <= frame.picture.shape[1]:
            raise ValueError("the server's model finds no free space")
        return np.clip(np.where(np.isfinite(free[0]), free[0], 0), 0, 1)

    def track(self, result, from_frame, to_frame):
        before, after = grey(from_frame.picture), grey(to_frame.picture)
        height, width = after.shape
        strips, columns = len(result), width // len(result)
        shift = shift_of(before, after)
        # Where each strip was, between two strips of before.
        shares = np.interp(np.arange(strips) + shift / columns, np.arange(strips), result)
        tracked = np.empty_like(result)
        for strip, share in enumerate(shares):
            left = np.clip(strip * columns + shift, 0, width - columns)
            row = np.clip(int((1 - share) * height), 0, height - 1)
            down = rows_down(before[:, left:left + columns].mean(axis=1),
                             after[:, strip * columns:(strip + 1) * columns].mean(axis=1), row)
            tracked[strip] = share - down / height
        return np.clip(tracked, 0, 1)

    def loss(self, tracked, fresh):
        if tracked.shape != fresh.shape:
            return 1
        either = np.maximum(tracked, fresh).sum()
        return 1 - np.minimum(tracked, fresh).sum() / either if either > 0 else 0

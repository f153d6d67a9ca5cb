# SPDX-License-Identifier: Apache-2.0
"""Pictures and grids of cells."""


def life(np, cells, turns):
    """Conway's game on a torus."""
    for _ in range(turns):
        n = sum(np.roll(np.roll(cells, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        cells = ((n == 3) | ((cells == 1) & (n == 2))).astype(cells.dtype)
    return cells


def life_views(np, cells, turns):
    """The same by slices; the border stays."""
    for _ in range(turns):
        n = (cells[:-2, :-2] + cells[:-2, 1:-1] + cells[:-2, 2:] + cells[1:-1, :-2] + cells[1:-1, 2:]
             + cells[2:, :-2] + cells[2:, 1:-1] + cells[2:, 2:])
        birth = (n == 3) & (cells[1:-1, 1:-1] == 0)
        survive = ((n == 2) | (n == 3)) & (cells[1:-1, 1:-1] == 1)
        cells[...] = 0
        cells[1:-1, 1:-1][birth | survive] = 1
    return cells


def mandelbrot(np, width, height, most):
    """Turns until escape; a mask says which points are still inside."""
    c = np.linspace(-2, 0.5, width) + 1j * np.linspace(-1.25, 1.25, height)[:, None]
    z, count = np.zeros_like(c), np.zeros(c.shape, dtype=np.int32)
    for _ in range(most):
        inside = z.real**2 + z.imag**2 <= 4
        count[inside] += 1
        z[inside] = z[inside] ** 2 + c[inside]
    return count


def mandelbrot_where(np, width, height, most):
    """The same in real numbers, without masks of varying size."""
    cr, ci = np.linspace(-2, 0.5, width), np.linspace(-1.25, 1.25, height)[:, None]
    zr, zi = np.zeros((height, width)), np.zeros((height, width))
    count = np.zeros((height, width), dtype=np.int32)
    for _ in range(most):
        r2, i2 = zr * zr, zi * zi
        inside = r2 + i2 <= 4
        count = count + inside
        zr, zi = np.where(inside, r2 - i2 + cr, zr), np.where(inside, 2 * zr * zi + ci, zi)
    return count


def fft_low_pass(np, signal, keep):
    """What a signal has in its lowest frequencies."""
    spectrum = np.fft.rfft(signal)
    spectrum[keep:] = 0
    return np.fft.irfft(spectrum, len(signal))


def fft_low_pass_2d(np, image, radius):
    n, m = image.shape
    y, x = np.fft.fftfreq(n)[:, None], np.fft.fftfreq(m)
    mask = x * x + y * y <= radius * radius
    return np.fft.ifft2(np.fft.fft2(image) * mask).real


def sobel(np, image):
    """Strength and direction of edges."""
    gx = (image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:]
          - image[:-2, :-2] - 2 * image[1:-1, :-2] - image[2:, :-2])
    gy = (image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:]
          - image[:-2, :-2] - 2 * image[:-2, 1:-1] - image[:-2, 2:])
    return np.hypot(gx, gy), np.arctan2(gy, gx)


def blur(np, image, weights):
    """A Gaussian of some width: first along rows, then along columns, with edges repeated."""
    half = weights.shape[0] // 2
    n, m = image.shape
    padded = np.pad(image, ((0, 0), (half, half)), mode="edge")
    rows = sum(weights[k] * padded[:, k : k + m] for k in range(2 * half + 1))
    padded = np.pad(rows, ((half, half), (0, 0)), mode="edge")
    return sum(weights[k] * padded[k : k + n] for k in range(2 * half + 1))


def grey_gamma(np, picture):
    """Bytes of a colour picture become a brighter grey one of bytes."""
    grey = (picture * np.array([0.299, 0.587, 0.114])).sum(axis=2)
    return np.clip(255 * (grey / 255) ** 0.8 + 0.5, 0, 255).astype(np.uint8)


def equalise(np, picture):
    """Histogram equalisation: a table of 256 entries, looked up for each pixel."""
    histogram = np.bincount(picture.ravel(), minlength=256)
    total = histogram.cumsum()
    first = total[total > 0][0]
    table = np.round((total - first) / max(float(total[-1] - first), 1.0) * 255)
    return np.clip(table, 0, 255).astype(np.uint8)[picture]


def threshold(np, image):
    """The threshold half-way between the means of both sides, until it stays."""
    t = image.mean()
    for _ in range(50):
        new = (image[image > t].mean() + image[image <= t].mean()) / 2
        if abs(new - t) < 1e-6:
            break
        t = new
    return float(t), (image > t).sum()


def otsu(np, picture):
    """The threshold that separates best, from a histogram."""
    p = np.bincount(picture.ravel(), minlength=256) / picture.size
    k = np.arange(256)
    w = np.cumsum(p)
    m = np.cumsum(p * k)
    between = (m[-1] * w - m) ** 2 / np.maximum(w * (1 - w), 1e-12)
    return int(between.argmax())


def labels(np, mask):
    """Connected parts: the largest number among neighbours spreads until nothing changes."""
    h, w = mask.shape
    number = np.where(mask, np.arange(1, h * w + 1).reshape(h, w), 0)
    turns = 0
    while True:
        new = number.copy()
        new[1:] = np.maximum(new[1:], number[:-1])
        new[:-1] = np.maximum(new[:-1], number[1:])
        new[:, 1:] = np.maximum(new[:, 1:], number[:, :-1])
        new[:, :-1] = np.maximum(new[:, :-1], number[:, 1:])
        new = np.where(mask, new, 0)
        turns += 1
        if np.array_equal(new, number):
            break
        number = new
    return number, turns, len(np.unique(number)) - 1


def julia(np, n, most):
    """Julia's set by masks: points that left are not computed any more."""
    g = np.linspace(-1.5, 1.5, n)
    z = g + 1j * g[:, None]
    count = np.zeros((n, n), dtype=np.uint32)
    here = np.ones((n, n), dtype=bool)
    for _ in range(most):
        z = np.where(here, z * z + (0.285 + 0.01j), z)
        here = here & (np.abs(z) < 1000)
        count += here
    return count

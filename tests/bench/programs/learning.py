# SPDX-License-Identifier: Apache-2.0
"""Learning and filtering: what people train and estimate with arrays."""


def sigmoid(np, z):
    return 1 / (1 + np.exp(-z))


def network(np, x, y, w1, w2, rounds):
    """A network of two layers learns on the whole set."""
    for _ in range(rounds):
        h = sigmoid(np, x @ w1)
        o = sigmoid(np, h @ w2)
        d = (o - y) * o * (1 - o)
        dh = (d @ w2.T) * h * (1 - h)
        w2 -= 0.5 * (h.T @ d)
        w1 -= 0.5 * (x.T @ dh)
    return w1, w2, o


def train_losses(np, x, y, w, rounds, rate):
    """Linear regression by gradients; a list of losses is kept, and read for each print."""
    losses = []
    for turn in range(rounds):
        error = x @ w - y
        losses.append((error**2).mean())
        w = w - rate * (x.T @ error) / x.shape[0]
        if turn % 10 == 0:
            "%.6f" % losses[-1]
    return w, np.array([float(loss) for loss in losses])


def logistic_regression(np, x, y, rounds):
    n, w, b = x.shape[0], np.zeros(x.shape[1]), 0.0
    for _ in range(rounds):
        p = sigmoid(np, x @ w + b)
        w = w - 0.5 * (x.T @ (p - y)) / n
        b = b - 0.5 * (p - y).mean()
    return w, b, ((p > 0.5) == (y > 0.5)).mean()


def kmeans(np, x, k, turns):
    """Lloyd's algorithm; a mask picks the points of each cluster."""
    centres = x[:k].copy()
    for _ in range(turns):
        distance = ((x[:, None, :] - centres) ** 2).sum(axis=2)
        label = distance.argmin(axis=1)
        for c in range(k):
            own = x[label == c]
            if len(own) > 0:
                centres[c] = own.mean(axis=0)
    return centres, label


def kmeans_bincount(np, x, k, turns):
    """The same with sums by bincount, column by column."""
    centres = x[:k].copy()
    for _ in range(turns):
        distance = ((x[:, None, :] - centres) ** 2).sum(axis=2)
        label = np.argmin(distance, axis=1)
        count = np.maximum(np.bincount(label, minlength=k), 1)
        for j in range(x.shape[1]):
            centres[:, j] = np.bincount(label, weights=x[:, j], minlength=k) / count
    return centres, label


def gaussian_bayes(np, x, y, z, classes):
    """Naive Bayes with normal densities: fit by masks, predict the likeliest class."""
    epsilon = 1e-9 * np.var(x, axis=0).max()
    mean, var = np.zeros((classes, x.shape[1])), np.zeros((classes, x.shape[1]))
    prior = np.zeros(classes)
    for c in range(classes):
        own = x[y == c]
        mean[c] = own.mean(axis=0)
        var[c] = own.var(axis=0) + epsilon
        prior[c] = own.shape[0] / x.shape[0]
    joint = np.zeros((z.shape[0], classes))
    for c in range(classes):
        likelihood = -0.5 * np.sum(np.log(2.0 * np.pi * var[c]))
        likelihood = likelihood - 0.5 * np.sum((z - mean[c]) ** 2 / var[c], axis=1)
        joint[:, c] = np.log(prior[c]) + likelihood
    return mean, var, joint, np.argmax(joint, axis=1)


def kalman(np, measured, f, h, q, r):
    """A filter with a state of four numbers; each step of the loop takes one measurement."""
    n = f.shape[0]
    x, p = np.zeros(n), np.eye(n)
    track = np.zeros((measured.shape[0], n))
    for t in range(measured.shape[0]):
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        gain = p @ h.T @ np.linalg.inv(s)
        x = x + gain @ (measured[t] - h @ x)
        p = p - gain @ h @ p
        track[t] = x
    return track


def kalman_many(np, measured, q, r):
    """One filter for each of many series: a number of state each, vectors in all."""
    x, p = np.zeros(measured.shape[1]), np.ones(measured.shape[1])
    track = np.empty(measured.shape)
    for t in range(measured.shape[0]):
        p = p + q
        gain = p / (p + r)
        x = x + gain * (measured[t] - x)
        p = (1 - gain) * p
        track[t] = x
    return track


def particle_filter(np, observed, count):
    """Weights, their effective number read each step, and systematic resampling."""
    g = np.random.default_rng(5)
    x = g.standard_normal(count)
    estimates = []
    for z in observed:
        x = 0.9 * x + g.standard_normal(count)
        w = np.exp(-0.5 * (z - x) ** 2)
        w = w / w.sum()
        estimates.append(float((w * x).sum()))
        if 1 / float((w * w).sum()) < count / 2:
            places = (np.arange(count) + g.random()) / count
            index = np.searchsorted(np.cumsum(w), places)
            x = x[np.minimum(index, count - 1)]
    return np.array(estimates)


def one_hot(np, label, classes, x):
    """Sums by class as a product with the one-hot matrix."""
    hot = np.zeros((label.shape[0], classes))
    hot[np.arange(label.shape[0]), label] = 1.0
    return hot.T @ x, hot.sum(axis=0)


def one_hot_compare(np, label, classes, x):
    hot = (label[:, None] == np.arange(classes)).astype(x.dtype)
    return hot.T @ x, hot.sum(axis=0)


def standardise(np, x):
    """Columns with mean 0 and deviation 1."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def min_max(np, x):
    low, high = x.min(axis=0), x.max(axis=0)
    return (x - low) / (high - low)


def correlation(np, x):
    """Pearson's coefficients of columns."""
    centred = x - x.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    return centred.T @ centred / np.outer(spread, spread)


def batches(np, x, y, w, size, rate):
    """Gradients by batches: rows taken in a random order."""
    order = np.random.default_rng(9).permutation(x.shape[0])
    for start in range(0, x.shape[0], size):
        take = order[start : start + size]
        xb, yb = x[take], y[take]
        w = w - rate * 2 * xb.T @ (xb @ w - yb) / size
    return w

# SPDX-License-Identifier: Apache-2.0
"""Tables, series and groups; recurrences over tables."""


def moving_average_cumsum(np, x, width):
    total = np.cumsum(np.concatenate([np.zeros(1), x]))
    return (total[width:] - total[:-width]) / width


def moving_average_window(np, x, width):
    """The same by views of all windows, and their largest elements."""
    windows = np.lib.stride_tricks.sliding_window_view(x, width)
    return windows.mean(axis=1), windows.max(axis=1)


def moving_average_convolve(np, x, width):
    return np.convolve(x, np.ones(width) / width, mode="valid")


def exponential_average(np, x, alpha):
    """Many series at once, an element of each a step."""
    out = np.empty_like(x)
    out[0] = x[0]
    for t in range(1, x.shape[0]):
        out[t] = alpha * x[t] + (1 - alpha) * out[t - 1]
    return out


def group_bincount(np, key, x, groups):
    """Count, mean and deviation of each group."""
    count = np.bincount(key, minlength=groups)
    mean = np.bincount(key, weights=x, minlength=groups) / count
    spread = np.bincount(key, weights=(x - mean[key]) ** 2, minlength=groups)
    return count, mean, np.sqrt(spread / count)


def group_sort(np, key, x):
    """Sums and largest elements of each group, by sorting."""
    order = np.argsort(key, kind="stable")
    k, v = key[order], x[order]
    first = np.concatenate([np.array([0]), np.flatnonzero(k[1:] != k[:-1]) + 1])
    return k[first], np.add.reduceat(v, first), np.maximum.reduceat(v, first)


def csv_statistics(np, table):
    """Columns of a table with gaps: how many, mean, deviation, extremes, quartiles."""
    good = ~np.isnan(table)
    count = good.sum(axis=0)
    filled = np.where(good, table, 0)
    mean = filled.sum(axis=0) / count
    spread = np.sqrt((np.where(good, table - mean, 0) ** 2).sum(axis=0) / (count - 1))
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    return count, mean, spread, low, high, np.nanpercentile(table, [25, 50, 75], axis=0)


def csv_rows(np, table, limit):
    """Rows without gaps and above a limit, sorted by their first column."""
    rows = table[~np.isnan(table).any(axis=1)]
    rows = rows[rows[:, 1] > limit]
    return rows[np.argsort(rows[:, 0])]


def returns(np, price):
    """Daily returns, volatility in windows, the deepest fall from a top."""
    r = np.diff(np.log(price))
    width = 20
    s1, s2 = np.cumsum(r), np.cumsum(r * r)
    mean = (s1[width:] - s1[:-width]) / width
    volatility = np.sqrt(np.maximum((s2[width:] - s2[:-width]) / width - mean * mean, 0))
    fall = 1 - price / np.maximum.accumulate(price)
    return volatility, fall.max(), r.mean() / r.std()


def histogram_bins(np, x, bins):
    count, edges = np.histogram(x, bins=bins, range=(-4.0, 4.0))
    middle = (edges[1:] + edges[:-1]) / 2
    return count, (count * middle).sum() / count.sum()


def outliers(np, x):
    """What is more than three deviations from the mean is replaced by the median."""
    mean, spread = x.mean(), x.std()
    bad = np.abs(x - mean) > 3 * spread
    out = x.copy()
    out[bad] = np.median(x)
    return out, bad.sum()


# ---- dynamic programming ----


def edit_distance(np, a, b):
    """Levenshtein's distance of two series of numbers: a row at a time by a running minimum."""
    n = b.shape[0]
    j = np.arange(n + 1)
    row = j.copy()
    for i in range(a.shape[0]):
        new = np.empty(n + 1, dtype=row.dtype)
        new[0] = i + 1
        new[1:] = np.minimum(row[1:] + 1, row[:-1] + (b != a[i]))
        row = np.minimum.accumulate(new - j) + j
    return row


def knapsack(np, weight, value, room):
    """The best value for each capacity, an item at a time."""
    best = np.zeros(room + 1)
    for w, v in zip(weight.tolist(), value.tolist()):
        best[w:] = np.maximum(best[w:], best[: room + 1 - w] + v)
    return best


def cheapest_path(np, cost):
    """The cheapest way from top to bottom, straight down or aslant."""
    total = cost[0].copy()
    for row in cost[1:]:
        best = total.copy()
        best[1:] = np.minimum(best[1:], total[:-1])
        best[:-1] = np.minimum(best[:-1], total[1:])
        total = row + best
    return total, total.min()


def viterbi(np, start, move, emit, seen):
    """The likeliest states behind what was seen, and how likely they are."""
    score = np.log(start) + np.log(emit[:, seen[0]])
    log_move, log_emit = np.log(move), np.log(emit)
    back = np.zeros((len(seen), len(start)), dtype=np.int64)
    for t in range(1, len(seen)):
        ways = score[:, None] + log_move
        back[t] = ways.argmax(axis=0)
        score = ways.max(axis=0) + log_emit[:, seen[t]]
    state = int(score.argmax())
    path = [state]
    for t in range(len(seen) - 1, 0, -1):
        state = int(back[t, state])
        path.append(state)
    return np.array(path[::-1]), score.max()

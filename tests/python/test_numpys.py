# SPDX-License-Identifier: Apache-2.0
"""Functions that NumPy computes on memory lent to it: as the call that goes through Python,
and as NumPy, for every row of numpys.def."""

import gc
import operator
import os
import subprocess
import sys
import threading
import tracemalloc
import warnings

import braze
import braze.numpy as np
import numpy
import pytest
from braze import _core
from braze.numpy import _ufuncs

from near_mode import near_on

_NATIVE = (_core.native_function, _core.native_descriptor)
_GENERATORS = [f"random.{kind.__name__}.{n}" for kind in (np.random.Generator, np.random.RandomState) for n in dir(kind)
               if type(getattr(kind, n)) in _NATIVE]
_NAMES = sorted(n for n in _core.numpys_counts() if n not in ("getitem", "setitem"))
ROWS = [n for n in _NAMES if not n.startswith("random.") or type(getattr(np.random, n[7:], None)) in _NATIVE]
ROWS = [n for n in ROWS if n != "in1d" or hasattr(numpy, n)]  # which NumPy has up to 2.3
ROWS += _GENERATORS


def given(n=6):
    """NumPy's arguments, which each module turns into its own."""
    rng = numpy.random.default_rng(n)
    f = rng.permutation(n) + 0.5
    f[n // 2] = numpy.nan
    q = rng.random((3, 3)) + 3 * numpy.eye(3)
    return {
        "f": f, "p": rng.permutation(n) * 1.0, "g": f.astype("f4"), "i": rng.permutation(n), "j": rng.integers(0, 3, n),
        "u": rng.integers(0, 200, n).astype("u1"), "k": rng.random(n) > 0.5, "c": f + 1j * f[::-1], "m": rng.random((n, 4)),
        "t": rng.random((4, n)).T, "h": rng.random(n).astype("f2"), "q": q, "w": q @ q.T, "v": rng.random(3),
        "s": rng.random(2 * n)[::2], "r": rng.random(n)[::-1], "e": numpy.zeros(0), "z": numpy.array(2.5), "o": numpy.zeros((0, 3)),
        "d": numpy.arange(24).reshape(2, 3, 4), "sorted": numpy.sort(rng.random(n)), "one": numpy.array([1.5]),
    }


def of(value, names=None):
    """A function's arguments as text, by what they are about."""
    return [f"({text})" for text in value.split("; ")]


ANY = of("f,; g,; i,; c,; m,; t,; s,; r,; e,; z,; o,; d,; k,; u,; h,; [3.0, 1.0, 2.0],; 2.5,; None,; 'text',; (f, g),; [[f]],")
SORTS = ANY + of("m, 0; m, 1; m, -1; m, 7; m, None; d, 1; f, -1, 'stable'; f, 0, 'nonsense'")
PLACES = ANY + of("f, 2; f, (1, 3); m, 1; m, 1, 0; f, 99; f, i")
REDUCE = ANY + of("m, 0; m, 1; m, (0, 1); m, 0, float; m, 9")
PAIRS = of("f, p; f, g; i, j; m, v; m, t; f, 2; 2, f; e, e; [1, 2], f; f, [1.5]; p, None; q, q; q, v; v, v; c, f; f,; k, k; d, d")
SCANS = ANY + of("m, 0; m, 1; m, 0, 'f4'; m, None, 'i8'; d, 2; m, 5; i, 0, 'f8'")
FFTS = of("f,; p,; c,; m,; t,; m, 3; p, 9; p, None, 0; s,; z,; e,; m, None, 0; 'x',; i,; g,; d,")
SQUARE = of("q,; m,; q.T,; d,; v,; z,; e,; q + 1j,; [[1.0, 2.0], [3.0, 4.0]],; 'x',; numpy_q,; q[::-1],")
FEW = of("5,; 0,; 3, 2; f,; -1,; 2.5,; 'x',")
SIZES = of("; 3,; (2, 2),; 0,; -1,; None,; 2.5,; f,; 2, 3; 300,; 3000,; 1, 2, 3; 0.5, 0.5, 3; 5, 0.5, 4")
CASES = {
    "r_ c_": of("(f, 0.5, p),; f,; (i, [1, 2]),; slice(0, 3),; (slice(0, 1, 5j), f),; ('0,2', v, v),; (m, m),; (f, m),; 'x',; z,; (e, e),; (t, t),; (k, i),; ('-1', m, t),; (f[0], 2),"),
    "array asarray": of("5,; 2.5,; True,; 1j,; 'abc',; b'x',; None,; range(5),; range(5, 0, -2),; range(0),; range(3), float; range(2**62, 2**62 + 3),; range(2**70, 2**70 + 2),; 5, 'f4'; 300, 'u1'; 2.5, int; [1, 2], 'u1'; [300], 'u1'; [-1], 'u8'; "
                        "[1e39], 'f4'; [2**60 + 1], 'f4'; [1, True], bool; [True, 2],; [True, 2.5],; [True, 1j],; [1, 2], complex; [1j], float; [k[0], 2],; [[[1, 2]], [[3, 4]]],; [[[[1]]]],; [[[[[1]]]]],; [f, f, 1.0],; [m[0], m[1]],; [f[::2], f[::2]],; "
                        "[f[0], None],; ['a', f],; [], int; [], 'x'; (),; [0.5] * 100,; [f[0]] * 70,; [1] * 70, 'f4'; [i[0], 2**40], 'f4'; [[True, False], [False, 1]],; [float('nan'), -0.0],; '5', int; ['1', '2'], float; [f, p],; (f, p),; [m, t],; [f, v],; [],; [[]],; [f, 1],; [[f[0], 1], [2, i[0]]],; [1, 2], 'f4'; [f, p], int; [f, p], 'x'; [i, f],; [i, u],; [True, False],; ['a', 'bc'],; "
                        "[None, 1],; [1, 2.5, 1j],; [2**70],; [[1], [2, 3]],; [z, z],; [one, one],; [e],; (f[0], 2),; [f, numpy_q[0]],; list(range(100)),; [c, f],; [h, g],; [d, d],; [{}],; [b'x'],; [k, k], object"),
    "atleast_1d atleast_2d": of("[f, p],; [1, 2],; (1.5,),; [],; [f, v],; [[1], [2]], f; [f], 2.5; [['a']],; [m],; [d],; (i, u),; [f[0], 1],"),
    "concatenate hstack vstack stack": of("[f, [1.0]],; ([0], f),; [[1, 2], [3.5, 4]],; [m, t],; [m, v],; [f, i, [1]],; [f, p],; [],; [f, 1],; [f[0], f[1]],; (i, u),; [m, [[1, 2, 3, 4]]],; [[1, 2], f[:2]], 0; [e, []],; "
                                          "['a', 'b'],; [[1j], f],; [k, [True]],; [q, [v]],; [f, [1]], 1; [f, [1]], None; [numpy_q, q],; [z, 1],; [h, [1.0]],"),
    "dot outer": of("[1, 2, 3], v; v, [1, 2, 3]; [1.5, 2], [3, 4]; [[1, 2], [3, 4]], [1, 1]; [f, p], f; [1, 2], [3]; [], []; ['a'], ['b']; [True], [2]; (1, 2, 3), q; [1j, 2], [1, 1]; [2], f; [v, v], q"),
    "where": of("[True, False], 1, 2; [True, False],; [0, 1], [1.5, 2], [3, 4]; (True, False, True), v, 0.5; [k, k], f, p; [], 1, 2; [1, 0], 'a', 'b'; [True], f, p; [True, False], f, p; [True], 1; [f, p],"),
    "mgrid ogrid": of("slice(0, 3),; (slice(0, 3), slice(1, 2)),; (slice(0, 1, 3j), slice(0, 2)),; slice(0, 1, 0.25),; f,; 'x',; (slice(0, 0), slice(0, 2)),"),
    "cov corrcoef": of("one,; one, one; m[:, :1],; m[:1], None, False; f[:1], p[:1]; t[:, :1],; o.T,; e,; c[:1],; i[:1], i[:1]; one, f; z,; one, None, True, True; one, 'x'"),
    "result_type": of("f,; f, i; i, u, 2.5; g, 1; k, c; f, 'f4'; m[0, 0], g; f[0],; z, numpy_q; int,; [1, 2], f; [f],; 'nonsense',; h, 1; None,; 'i4', k, i; f, None"),
    "sort argsort ndarray.argsort sort_complex ndarray.sort": SORTS,
    "partition argpartition ndarray.partition ndarray.argpartition": PLACES,
    "lexsort": of("(f, p),; (i, j),; (f, i, p),; m,; f,; [f, g],; (f, v),; (),"),
    "searchsorted digitize ndarray.searchsorted": of("sorted, p; p, sorted; v, sorted, True; sorted, p, 'right'; sorted, 0.5; j * 0 + 1, j; sorted, m; [1, 2, 3], f; sorted, f; "
                                                     "sorted, p, 'x'; m, p; sorted, v; sorted, z; sorted,"),
    "unique unique_values": ANY + of("j, True; j, True, True; j, False, False, True; m, False, False, False, 0"),
    "nonzero flatnonzero argwhere count_nonzero ndarray.nonzero isneginf isposinf fix i0 angle real_if_close roots poly nan_to_num": ANY,
    "histogram histogram_bin_edges": of("p,; p, 4; p, sorted; m,; i, 3, (0, 5); f, 3; e,; s, 2; 'x',; p, -1"),
    "histogram2d": of("p, p; p, p, 3; p, v; p, s, [2, 3]"), "histogramdd": of("m,; m, 2; p,; t, [2, 2, 2, 2]"),
    "bincount": of("j,; j, p; j, None, 9; i,; f,; u,; m,; e,; [1, 2, 2],; j, v; -j,"),
    "in1d isin intersect1d union1d setdiff1d setxor1d convolve correlate kron extract compress "
    "polyadd polysub polymul cross append unwrap isclose allclose ndarray.compress": PAIRS,
    "cumsum cumprod ndarray.cumsum ndarray.cumprod cumulative_sum cumulative_prod": SCANS,
    "diff ediff1d gradient": ANY + of("m, 1; m, 2; m, 1, 0; d, 1, 1; f, 0; f, -1; f, 3; f, p; f, 2.0; k, 2"),
    "median nanmedian nanmin nanmax nanargmin nanargmax": REDUCE,
    "any all argmin argmax": REDUCE,
    "percentile quantile nanpercentile nanquantile": of("p, 0.5; p, [0.25, 0.5]; m, 0.5, 0; f, 0.5; e, 0.5; p, 50; p, -1; p, v; s, 0.1; r, 1; p,"),
    "interp": of("p, sorted, p; p, sorted, c; 0.5, sorted, p; [1.0], sorted, p; p, v, p; p, sorted, p, 0, 1"),
    "take ndarray.take": of("f, i; f, 0; m, [0, 1], 0; m, i, 0; m, j, 1; f, [9]; f, -1; f, k; d, j, 1; f, p; e, i; s, i; t, [1, 0], 0; f, z; f, [[0, 1], [2, 3]]"),
    "take_along_axis": of("f, i, 0; m, j, None; m, m, 0; f, j, 0; f, j, 3; t, d, 1; f, v, 0; m, i, 0; f, i + 3, 0"),
    "choose ndarray.choose": of("j, (f, p, s); j, [f, p, s]; j, m.T; u, (f, p); i, (f, p); j, (1, 2, 3); k, (f, p)"),
    "select": of("[k, f > 2], [f, p]; [k], [p]; [k, k], [p, 1.5], 7; [j], [p]; [], []; [k], [v]"),
    "insert delete": of("f, 0, 1.5; f, [0, 2], v[:2]; m, 1, 2.0, 0; f, 2; f, [0, 1]; f, slice(1, 3); m, 1, 0; f, k; f, 99"),
    "column_stack dstack block": of("(f, p),; [f, g],; (m, t),; (f, m),; [[q, q], [q, q]],; (f, v),; f,; (),; m,; (z, z),; [[f], [p]],; (i, f),"),
    "tile repeat ndarray.repeat roll": of("f, 2; m, (2, 1); f, 0; f, -1; m, 3, 0; m, 2, 1; t, 2; z, 3; f, i; f, [2]; e, 2; s, 2; f, 2.0; d, 1, 2; f, j; m, (1, 2), (0, 1); f, 'x'"),
    "pad": of("f, 1; m, ((1, 2), (0, 1)); f, 2, 'edge'; f, 1, 'nonsense'; m, 1, 'reflect'; f, -1; f, (1, 2)"),
    "tril triu": of("m,; m, 1; m, -1; t,; d,; f,; q, 2; o,; c,; i,; k, 1; z,"), "vander": of("f,; i, 3; f, 2, True; m,; [1, 2],; c,; g,"),
    "trim_zeros": of("f,; j,; e,; [0, 1, 0],; m,"), "indices": of("(2, 3),; (),; 3,; f,; (2,), float; (-1,),; [2, 2],"),
    "diag_indices tril_indices triu_indices": FEW,
    "unravel_index": of("3, (2, 3); i, (3, 4); [1, 2], (2, 2); 99, (2, 2); p, (2, 3); i, 9"),
    "ravel_multi_index": of("(0, 1), (2, 3); (j, j), (3, 3); [j, j], (3, 3); (9, 9), (2, 2); (p, p), (9, 9); (j, j), (2, 2), 'clip'"),
    "ndarray.put put": of("f, [0, 1], [1.5, 2.5]; p, i, r; f, i, f; p, 0, 2; f, [99], 1; m, [1, 2], 7; t, [0, 1], [3, 4]; i, [0], 'x'; s, [1], 2; f, j, p; r, 0, z"),
    "putmask place": of("f, k, p; f, k, 1.5; f, k, [1, 2, 3]; m, m > 0.5, [0.0]; f, k, f; i, k, p; s, k, [9.0]; f, v, 1; p, k, []"),
    "fill_diagonal": of("q, 0.5; m, [1, 2]; f, 1; q, v; t, 2; d, 1; q, q"),
    "ndarray.tobytes ndarray.tolist": ANY + of("m, 'F'; t, 'A'; m, 'x'; f, 3"),
    "around": of("f,; f, 1; m, 2; i, -1; c, 1; g, 1; z, 0; k,; f, None; f, 'x'; h, 1"),
    "packbits unpackbits": of("k,; u,; u, 0; k, None, 'little'; f,; m,; d.astype('u1'), 1"),
    "polyfit": of("v, v, 1; p, r, 2; p, m, 1; f, v, 1; p, p, -1; e, e, 1; i, p, 1; p, r, 1.5; 2, 3, 1; p, r, 'x'"),
    "polyder polyint": of("v,; v, 2; f,; i,; v, -1; m,; e,; v, 0"),
    "bartlett blackman hamming hanning": FEW, "kaiser": of("5, 2.0; 0, 1; f, 2; 5, f; 4,"),
    "logspace geomspace": of("1, 2, 5; 1, 3; v, 2, 3; 1.0, 2.0, -1; 0, 1; 1, v, 3; 1, 2, 3, False"),
    "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn": FFTS,
    "fft.fftfreq fft.rfftfreq": FEW + of("8, 0.5"), "fft.fftshift fft.ifftshift": ANY + of("m, 0; m, (0, 1); f, 3"),
    "linalg.norm linalg.vector_norm linalg.matrix_norm": SQUARE + of("m, 1; m, 'fro'; q, 'nuc'; f, 3; c,"),
    "linalg.inv linalg.pinv linalg.det linalg.slogdet linalg.eig linalg.eigvals linalg.eigh linalg.eigvalsh linalg.svd linalg.svdvals "
    "linalg.qr linalg.cholesky linalg.cond linalg.matrix_rank linalg.tensorinv": SQUARE + of("w,; q * 0,; q, 1"),
    "rad2deg deg2rad fabs spacing bitwise_count": ANY, "float_power gcd lcm ldexp logaddexp2": PAIRS,
    "linalg.solve linalg.lstsq linalg.tensorsolve": of("q, v; q, q; q, m[:3]; m, p; q, p; q * 0, v; q, c[:3]; q,; numpy_q, v; i, j"),
    "array_equal": PAIRS + of("[1, 2], [1, 2]; [1, 2], (1, 2); 1, 1.0; [f], [f]; 'a', 'a'; p, p[...]; [[1], [2]], [1, 2]; f[0], f[0]; p, [1]"),
    "can_cast": of("f, 'f4'; int, float; f[0], int; i, 'f8'; 5, int; 'i4', 'i2'; f, 'f4', 'same_kind'; k, u, 'x'; float,; z, 'f8', 'unsafe'"),
    "clip": of("2.5, 0, 1; f[0], 0, 1; i[0], 1, 2; [1, 2, 3], 2, 3; f, 1, 3; -0.0, 0, 1; 0, -0.0, 0.0; 5, 1, 2; 1.5, 2, 1; True, 0, 2; f[3], 0, 1; 2.5, None, 1; 2.5, 'x', 1; 1, 0.5, 0.75; (1, 5), 0, 3; g[0], 0, 1; "
               "2.0, 0, float('nan'); 2**60 + 1, 0.5, 1e300; z, 0, 1; 1j, 0, 1; u[0], 1, 2; p[0], p[1], p[2]"),
    "round": of("2.567, 2; 2.5,; 0.5,; -0.5,; 1.5, 0; f[0], 1; i[0],; i[0], -1; 5, 2; [2.345, 1.5], 1; f, 1; 1e300, 8; float('nan'), 2; float('inf'),; 2.5, None; -0.04, 1; 1e-320, 3; g[0], 1; 'x',; 2.675, 2; z, 1; "
                "True,; 1j, 2; 2**70,; 1234.5, -2; 0.285, 2, None"),
    "einsum": of("'i,j->ij', p, v; 'i,j->ij', v, v; 'ij,jk', d[0], d[1].T; 'ij,jk', d[0].T, d[0]; 'ij->j', d[0]; 'ij->', d[1]; 'ii', d[0, :, :3]; 'ii->i', q; 'ij,ij->i', d[0], d[1]; 'ij,kj->ik', d[0], d[1]; 'i,i', i, j; 'i,j', v, v; "
                 "'j,i', v, v; 'ji,i', d[0], d[0, 0]; 'i,i->i', p, v; 'ij,j->i', d[0], d[0, 1]; 'i->i', f; 'ij->ji', m; '...i,i->...', d, d[0, 0]; 'x', v; 'ij', v; 'i,j->k', v, v; 'kj,ji', d[0], d[1].T; 'i,j->ji', v, v; "
                 "'ij, jk', d[0], d[1].T; 'i,i->', k, k; 'ij,jk->ki', d[0], d[1].T; 'I,i->Ii', v, v; 'i,j->ij', i, v; 'ii,i->i', q, v; 'i', p[:0]; 'i,j->ij', e, v; 'Ij,ja', d[0], d[1].T"),
    "zeros_like ones_like": of("[1, 2],; [1.5],; f,; 2.5,; [[1, 2]], 'f4'; 'ab',; f[0],; [f, p],; [],; True,; 1j,; (1, 2), 'x'; m, int; [None],"),
    "full_like": of("[1, 2], 3; [1.5], 2; f, 2; 2.5, 1; [1, 2], 2.7; [[1, 2]], 1, 'f4'; [1], f; [1, 2],; f[0], 1; [1, 2], [3, 4]; [True], 2"),
    "polyval": of("[1, 2, 3], 2; [1, 2, 3], f; (1.5, 2), i; f, 2.0; [1], [1, 2]; [], 2; [1, 2], 'x'; p, p; 3, 2; [1, 2], v[0]; 'x', 2; [1j, 2], 2"),
    "ix_": of("[0, 1], [0, 2]; f, p; [True, False], [1]; [0.5],; [[1]],; [], [1]; i, [1, 2]; 'x',; (0, 1), i; [1], k; 5, 6"),
    "fromiter": of("range(5), float; range(5), int; (x * 0.5 for x in range(4)), float; [1, 2.5], 'f4'; f, float; f, int; iter([1, 2, 3]), int, 2; range(3), int, 5; map(abs, [-1, 2]), 'f8'; ['a'], int; range(3),; 5, int; "
                   "(1 / x for x in (1, 0)), float; [f[0], f[1]], float; {1: 2}, int; iter([f[0], 2]), float; range(3), 'x'; zip([1], [2]), int; (x for x in f), float; iter(['a', 'b']), 'U1'"),
    "fromfunction": of("(lambda i, j: i + j), (3, 3); (lambda i: i * 2.5), (4,); (lambda i, j: 7), (2, 2); max, (3,); (lambda: 1), (); (lambda i: i), 3; len, (2, 3); (lambda i: 1 / 0), (2,); (lambda i: i == 1), (3,); "
                       "(lambda i: [i, i]), (2,); (lambda i, j: i), (2, 2), f"),
    "piecewise": of("f, [f < 2, f >= 2], [0, 1]; f, [f < 2], [(lambda x: -x), (lambda x: x * 2)]; p, [p < 1, p >= 1], [(lambda x, y: x + y), 7.5], 2; p, p > 1, [1, 2]; 2.5, [True], [1]; i, [i > 2], [0.5, 1.5]; f, [k, k], [1, 2]; "
                    "p, [p > 1], [abs]; p, [p > 1], [(lambda x: 1 / 0)]; p, [k], [1, 2, 3]; [1.0, 2.0], [[True, False]], [5]; m, [m > 0.5], [1, -1]; z, [z > 1], [(lambda x: x + 1)]; s, [s > 0.5], [(lambda x: x.sum())]"),
    "apply_along_axis": of("sum, 0, m; max, 1, m; (lambda r: r[::-1]), 0, m; len, 0, t; (lambda r: r.sum()), -1, d; sum, 5, m; sorted, 1, [[2, 1], [3, 4]]; (lambda r, n: r * n), 0, m, 2; (lambda r: 1 / 0), 0, m; sum, 0, e; "
                           "(lambda r: r > 1), 0, q; sum, 0, f; 5, 0, f; (lambda r: str(len(r))), 0, m"),
    "apply_over_axes": of("(lambda a, axis: a.sum(axis)), d, [0, 2]; (lambda a, axis: a.max(axis)), m, 1; (lambda a, axis: a), m, (0, 1); (lambda a, axis: 1 / 0), m, [0]; sum, m, [0]; (lambda a, axis: a.min(axis, keepdims=True)), d, [1]; "
                          "(lambda a, axis: 5), m, [0]; (lambda a, axis: a.mean(axis)), [[1, 2], [3, 4]], [0]"),
    "linalg.matrix_power": of("q, 2; q, 0; q, -1; q, 2.5; m, 2; q, 5"),
}
DRAWN = {
    "rand randn": SIZES, "random random_sample ranf sample standard_normal standard_exponential standard_cauchy": SIZES + of("3, 'f4'"),
    "seed": of("3,; [1, 2],; i,; None,; -1,; 'x',"), "permutation permuted shuffle": of("f,; 5,; m,; i,; [1, 2, 3],; z,; t,; s,; d,"),
    "zipf": of("2.0,; 3.0, 4; v + 2,; 0.5,; 'x',"), "bytes": of("3,; 0,"), "choice": of("f,; f, 3; 5, 3; i, 4; f, 3, True, None; m,; f, 99, False; v, 2; e,"),
}
NUMBERS = SIZES + of("0.5,; 2.0, 0.5; v,; v, 0.5; v, v; v, v, 3; 0.5, 0.5, (2, 2); 5, 0.5; 3, v; 5, 3, 2; 7, [0.5, 0.5], 4; v, q; v, q, 5; [3, 2], 2; 1, 2, 3, 4")


METHODS = {"accumulate": SCANS, "reduce": of("k,; k, 0; k, None; f,; i, 0; m, 1; m, -1; m, 2; m, (0, 1); e,; z,; s,; k, 0, None; k, 0, bool"), "reduceat": of("f, [0, 2]; i, i; m, [0, 1], 1; f, [9]; m, [0, 2]; f, v; p, 0; u, [1, 3], 0, 'i8'; k, [0]; d, [0], 2"),
           "at": of("f, i, 1.5; p, j, f; i, k, 2; u, [0, 0], 1; m, j[:2], 3; f, [9], 1; f, i, f; k, i, k; f, i, 'x'; s, j, 1; p, 0, 2; i, j, 1.5; t, 1, 2")}


LISTS = of("k,; e,; z,; f,; [f, p],; (f, p),; [i, j], 0; [m, t],; [f, v],; [1, 2, 3],; [],; [f, 1],; (f, p), 1; [f, p], None; (k, k),; [f, 'x'],; [[1.5, 2], [3, 4]], 1; [c, c],; [e, e],; [u, u],; [f[0], 2.5],")


_OF_LISTS = "add.reduce multiply.reduce minimum.reduce maximum.reduce sum prod mean min max".split()


def cases(name):
    if name in _OF_LISTS:  # the mean of nothing warns in braze's words, and products have a tree of their own
        return [c for c in LISTS if c not in ("([],)", "(e,)", "([e, e],)", "([m, t],)")]
    if name.rpartition(".")[2] in METHODS:
        return METHODS[name.rpartition(".")[2]]
    if name.startswith("random."):
        short = name.rpartition(".")[2]
        return next((c for names, c in DRAWN.items() if short in names.split()), NUMBERS)
    return next(c for names, c in CASES.items() if name in names.split())


def described(x):
    """A result as a program can see it; a NaN's sign and payload are nobody's promise."""
    if isinstance(x, (tuple, list)):
        return type(x).__name__, [described(y) for y in x]
    if isinstance(x, (np.ndarray, numpy.ndarray, numpy.generic)):
        a = numpy.asarray(x)
        scalar = x._is_scalar if type(x) is np.ndarray else isinstance(x, numpy.generic)
        order = (a.flags.c_contiguous, a.flags.f_contiguous) if a.size else None
        return scalar, str(a.dtype), a.shape, order, str(a.tolist())
    return type(x).__name__, str(x)


def outcome(f):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            made = described(f())
        except Exception as error:  # noqa: BLE001 any error is compared
            return type(error).__name__, str(error)
    return made, sorted({str(w.message) for w in told})


def arguments(module, text):
    values = given()
    space = {k: v if module is numpy else writable(v) for k, v in values.items()}
    space["numpy_q"] = values["q"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = eval(text, space)
    return args, space


def writable(v):
    """A braze array that lies as NumPy's does."""
    if v.flags.c_contiguous:
        return np.array(v)
    mine = np.array(v.base)
    if v.flags.f_contiguous and v.ndim > 1:
        return mine.T
    return mine[::2] if v.strides[0] > 0 else mine[::-1]


def function(module, name, way):
    """The row's function of a module; way: "c" or "python" of braze's."""
    parts = name.split(".")
    if parts[0] == "random" and len(parts) == 3:
        kind = getattr(module.random, parts[1])
        rng = module.random.default_rng(7) if parts[1] == "Generator" else kind(7)
        f = getattr(type(rng), parts[2])
        return (lambda *a: f.__wrapped__(rng, *a)) if way == "python" else (lambda *a: f(rng, *a))
    f = operator.attrgetter(name)(module)
    if name in ("r_", "c_", "mgrid", "ogrid"):
        return f._general if way == "python" else f.__getitem__
    if parts[0] == "random" and parts[1] != "seed":
        module.random.seed(11)
    if type(f) is np.ufunc:
        return (lambda *a: _ufuncs._general(f, a, {})) if way == "python" else f
    return f.__wrapped__ if way == "python" else f


def run(module, name, text, way="c"):
    args, space = arguments(module, text)
    f = function(module, name, way)
    result = outcome(lambda: f(*args))
    after = {k: described(v) for k, v in space.items() if k in given_names}
    return result, after


given_names = set(given())


@pytest.mark.parametrize("name", ROWS)
def test_the_call_from_c_is_the_call_from_python(name):
    texts = cases(name)
    assert len(texts) >= 2
    # A product of two that is made in Python is a view of what matmul gives, where labels turn its axes.
    seen = without_order if name == "einsum" else lambda found: found
    for text in texts:
        assert seen(run(np, name, text)) == seen(run(np, name, text, "python")), (name, text)


# What differs from NumPy by design: the words of errors, text arrays, methods of no array, sums (which have a tree of
# their own), and the Python half's C order.
@pytest.mark.parametrize("name", [n for n in ROWS if not n.startswith("random.")])
def test_results_are_numpys(name):
    if os.environ.get("BRAZE_TEST_DEVICE") and name.startswith(("fft.", "linalg.")):
        pytest.skip("by a library of the device's, with its bits: test_cuda_fft.py, test_cuda_solver.py")
    compared = 0
    for text in cases(name):
        mine, theirs = run(np, name, text), run(numpy, name, text)
        if isinstance(theirs[0][0], str) and theirs[0][0].endswith("Error"):
            assert isinstance(mine[0][0], str) and mine[0][0].endswith("Error"), (name, text, mine[0])
            continue
        assert without_order(mine) == without_order(theirs), (name, text)
        compared += 1
    assert compared


def without_order(seen):
    """Neither layouts nor the classes of numbers (a number of NumPy's is a scalar of ours)."""
    return eval(repr(seen).replace("(True, False)", "None").replace("(False, True)", "None").replace("(False, False)", "None")
                .replace("(True, True)", "None"), {"nan": "nan", "inf": "inf"})


@pytest.mark.parametrize("name", [n for n in ROWS if n.startswith("random.")])
def test_draws_are_numpys_stream(name):
    for text in cases(name):
        mine, theirs = run(np, name, text), run(numpy, name, text)
        if isinstance(theirs[0][0], str) and theirs[0][0].endswith("Error"):
            continue
        assert without_order(mine[0]) == without_order(theirs[0]), (name, text)


# ---- Keys ----

KEYS = of("f[i]; f[k]; m[i]; m[:, j]; m[j, 1]; m[i, j]; m[k]; d[:, k[:3], 1]; f[j][k]; f[f > 2]; m[m > 0.5]; t[i]; s[k]; r[i]; m[..., j]; "
          "f[None, i]; f[i[:0]]; f[i * 0]; f[i - 6]; f[i + 3]; f[u]; m[k, 1]; m[k, :2]; d[:, :, j]; f[z]; z[i]; e[i]; f[k[:3]]; c[k]; g[i]; k[k]; "
          "d[k[:2]]; d[[0, 1], j[:2]]; o[i]; f[v]; m[i[:2], k[:4]]; f[i.reshape(2, 3)]; f[numpy_q > 0]; m[1:3][:, k[:4]]")


@pytest.mark.parametrize("text", KEYS)
def test_elements_at_arrays_are_numpys(text):
    def read(module):
        space = arguments(module, "0")[1]
        return outcome(lambda: eval(text, space))

    mine, theirs = read(np), read(numpy)
    if isinstance(theirs[0], str) and theirs[0].endswith("Error"):
        assert mine[0] == theirs[0]
    else:
        assert without_order(mine) == without_order(theirs)


WRITES = of("f[k] = 0.5; f[i] = p; f[i] = 2; f[k] = p[k]; m[k] = 1.5; m[:, j[:2]] = 3; f[i] += 1; f[k] *= 2; f[i] = f; f[i] = f[::-1]; f[i] = 'x'; f[k] = v; "
            "f[i + 3] = 1; i[k] = 2.7; i[k] = float('nan'); u[k] = 300; c[k] = 1j; f[k] = 1j; k[i] = 2; m[i, j] = p; m[k, 1] = 0; t[i] = 1; s[k] = 9; "
            "r[i] = p; f[k] = z; f[i] = one; d[k[:2]] = 0; f[j] = p; g[i] = f; f[u % 6] = 4; o[i] = 1; f[i] = [1, 2, 3, 4, 5, 6]; f[k] = None; "
            "f[1:][k[1:]] = 7; f[i[:0]] = 1; h[k] = 1e9; f[i] = c")


@pytest.mark.parametrize("text", WRITES)
def test_what_a_key_with_arrays_writes_is_what_numpy_writes(text):
    def write(module):
        space = arguments(module, "0")[1]
        kept = {n: space[n][...] for n in ("f", "i", "m", "u", "c", "g", "k", "t", "s", "r", "d", "h", "o")}
        said = outcome(lambda: exec(text[1:-1], space))
        return said, {n: described(numpy.asarray(a)) for n, a in kept.items()}

    mine, theirs = write(np), write(numpy)
    assert mine[1] == theirs[1]
    assert mine[0][0] == theirs[0][0]


@pytest.mark.parametrize("n", [1, 5, 256, 257, 3000])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16", "?", "u1"])
def test_vectors_of_any_size_are_read_and_written_at_places(n, dtype):
    rng = numpy.random.default_rng(n)
    data, other = (rng.random(n) * 100).astype(dtype), (rng.random(n) * 100).astype(dtype)
    at, mask = rng.integers(-n, n, n), rng.random(n) > 0.5
    mine, a, k, v = np.array(data), np.array(at), np.array(mask), np.array(other)
    assert numpy.asarray(mine[a]).tobytes() == data[at].tobytes() and numpy.asarray(mine[k]).tobytes() == data[mask].tobytes()
    shown = numpy.asarray(mine)
    before = data.copy()
    for key, theirs in ((a, at), (k, mask)):
        for value, its in ((v, other), (1, 1), (2.5, 2.5), (v[0], other[0]), (v[: int(mask.sum())], other[: mask.sum()])):
            said = []
            for array, place, x in ((mine, key, value), (data, theirs, its)):
                try:
                    array[place] = x
                    said.append(None)
                except ValueError as error:
                    said.append(type(error))
            assert said[0] == said[1] and numpy.asarray(mine).tobytes() == data.tobytes(), (key is a, its)
    assert shown.tobytes() == before.tobytes()
    a[0] = n
    with pytest.raises(IndexError):
        numpy.asarray(mine[a])
    assert numpy.asarray(mine).tobytes() == data.tobytes()


# ---- Masks ----

MASKED = ["f8", "f4", "f2", "i8", "i4", "u1", "i2", "c16", "c8", "?"]


def masked_pair(n, dtype, share, row=()):
    """An array and a mask of ours beside NumPy's."""
    rng = numpy.random.default_rng(n)
    data = (rng.random((n, *row)) * 100).astype(dtype)
    mask = rng.random(n) < share
    mask[n // 3: n // 2] = share > 0.4  # all the same for long
    return data, mask, np.array(data), np.array(mask)


@pytest.mark.parametrize("near", ["0", "1"])
@pytest.mark.parametrize("share", [0, 0.03, 0.5, 1.1])
@pytest.mark.parametrize("dtype", MASKED)
def test_masks_read_and_write_what_numpys_do(dtype, share, near, monkeypatch):
    monkeypatch.setenv("BRAZE_NEAR", near)
    braze.close()
    for n in (1, 7, 8, 65, 1000, 40_003):
        data, mask, mine, k = masked_pair(n, dtype, share)
        assert numpy.asarray(mine[k]).tobytes() == data[mask].tobytes() and mine[k].shape == data[mask].shape
        values = data[mask][::-1].copy()
        kept, shown = mine[...], numpy.asarray(mine)
        before = data.copy()
        for value in (values, 1, 100, True, data.dtype.type(3), values[:1]):
            data[mask] = value
            mine[k] = np.array(value) if isinstance(value, numpy.ndarray) else value
            assert numpy.asarray(mine).tobytes() == data.tobytes()
        mine[k] += mine[k]
        data[mask] += data[mask]
        assert numpy.asarray(kept).tobytes() == data.tobytes() and shown.tobytes() == before.tobytes()
        assert (numpy.asarray(k) == mask).all()
    braze.close()


@pytest.mark.parametrize("n", [6, 40_003])
def test_masks_of_first_axes_choose_rows(n):
    data, mask, mine, k = masked_pair(n, "f8", 0.5, (3,))
    assert numpy.asarray(mine[k]).tobytes() == data[mask].tobytes()
    both = data > 50
    assert numpy.asarray(mine[mine > 50]).tobytes() == data[both].tobytes()
    for value in (data[mask] + 1, data[mask][0], 2.5, data[mask][:, :1]):
        data[mask] = value
        mine[k] = np.array(value) if isinstance(value, numpy.ndarray) else value
        assert numpy.asarray(mine).tobytes() == data.tobytes()
    data[data > 50] = data[data > 50] / 2
    mine[mine > 50] = mine[mine > 50] / 2
    assert numpy.asarray(mine).tobytes() == data.tobytes()


BAD = of("a[k] = a[:2]; a[k[1:]]; a[k[1:]] = 1; a[k[1:]] = a[1:]; a[k] = 'x'; a[k] = [1, 2]; a[k] = None; b[k] = a[k] * 1j; b[k] = 2**70; m[k.reshape(-1, 1)]; "
         "m[mk[:, :1]]; a[k] = m; a[mk]; a[k] = []; b[k] = -1; a[k] = (a, a)")


@pytest.mark.parametrize("text", BAD)
@pytest.mark.parametrize("n", [9, 5000])
def test_wrong_masks_are_told_as_numpy_tells_them(text, n):
    def seen(module):
        rng = numpy.random.default_rng(0)
        space = {"a": rng.random(n), "b": numpy.arange(n).astype("u1"), "k": rng.random(n) > 0.3, "m": rng.random((n, 3))}
        space["mk"] = space["m"] > 0.5
        space = {name: v if module is numpy else np.array(v) for name, v in space.items()}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                exec(text[1:-1], space)
                said = None
            except Exception as error:  # noqa: BLE001 any error is compared
                said = type(error).__name__, str(error) if isinstance(error, (IndexError, ValueError)) else ""
        return said, sorted(str(w.message) for w in told), [numpy.asarray(space[v]).tobytes() for v in "abm"]

    assert seen(np) == seen(numpy)


LAID = ["a[::2]", "a[::-1]", "m.T[0]", "m[:, 1]", "c.real", "c.imag", "m.T", "w[:, ::2]", "a[5:]"]


@pytest.mark.parametrize("text", LAID)
def test_masks_of_arrays_that_lie_otherwise(text):
    def seen(module):
        rng = numpy.random.default_rng(1)
        space = {"a": rng.random(4000), "m": rng.random((4000, 3)), "c": rng.random(4000) + 1j * rng.random(4000), "w": rng.random((80, 60))}
        space = {name: v if module is numpy else np.array(v) for name, v in space.items()}
        x = eval(text, space)
        k = x > 0.5
        got = [numpy.asarray(x[k]), numpy.asarray(x.T[k.T])]
        x[k] = x[k] * 2
        x[x < 0.1] = 9.0
        x[k] += 1
        return [g.tolist() for g in got] + [numpy.asarray(v).tolist() for name, v in space.items() if name in "amcw"]

    assert seen(np) == seen(numpy)


def test_masks_and_values_that_share_memory_with_what_is_written():
    theirs = numpy.random.default_rng(2).random(3000) > 0.5
    mine = np.array(theirs)
    for array in (mine, theirs):
        array[array] = array[::-1][array]
    assert (numpy.asarray(mine) == theirs).all()
    data = numpy.random.default_rng(3).random(3000)
    a = np.array(data)
    for array in (a, data):
        k = array > 0.5
        array[1:][k[1:]] = array[:-1][k[1:]]
    assert numpy.asarray(a).tobytes() == data.tobytes()


@pytest.mark.parametrize("n", [2000, 300_000])
def test_pending_masks_arrays_and_values(n):
    def seen(module):
        a = module.array(numpy.random.default_rng(4).random(n))
        b = a * 2 - 1
        c = b[b > 0.25]
        b[b < -0.5] = c[: int((b < -0.5).sum())] * 3
        late = b + 1
        b[a > 0.9] = late[a > 0.9] / 7
        b[a < 0.1] = 0
        return [numpy.asarray(x).tobytes() for x in (a, b, c, late)]

    with near_on():
        near = seen(np)
    assert seen(np) == seen(numpy) == near


def test_what_fails_before_a_mask_is_known_is_raised_and_writes_nothing():
    a, at = np.arange(400_000.0), np.arange(400_000)
    bad = np.take(a, at + 1) > 3
    with pytest.raises(IndexError):
        len(a[bad])
    with pytest.raises(IndexError):
        a[bad] = a[:5]
    assert float(a.sum()) == numpy.arange(400_000.0).sum()


def test_masks_of_large_arrays_enter_no_frame_of_ours():
    done = subprocess.run([sys.executable, "-c", LARGE_FRAMES], env={k: v for k, v in os.environ.items() if k != "BRAZE_NEAR"}
                          | {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])},
                          stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout == ""


LARGE_FRAMES = """
import braze.numpy as np
from frames import frames_of
a = np.arange(300_000.0)
for statement in ("a[a > 5]", "b[b > 5] = b[b > 5] * 2", "b[b > 7] += 1.0", "b[a * 2 > 9] = a[a * 2 > 9]"):
    entered = frames_of(statement, {"np": np, "a": a, "b": a * 3})
    if entered:
        print(statement, entered)
"""


# ---- Memory ----


def test_a_result_shows_no_later_value():
    a = np.arange(6.0)
    b = np.sort(a)
    shown = a.nonzero()[0]
    a += 1
    assert b.tolist() == [0, 1, 2, 3, 4, 5] and shown.tolist() == [1, 2, 3, 4, 5] and a.tolist() == [1, 2, 3, 4, 5, 6]


def test_a_view_that_numpy_gives_of_what_was_lent_is_a_view_of_the_array():
    a = np.array([0.0, 1.0, 2.0, 0.0])
    middle = np.trim_zeros(a)
    assert middle.tolist() == [1, 2] and np.shares_memory(middle, a)
    a[1] = 5
    assert middle.tolist() == [5, 2]
    middle[1] = 7
    assert a.tolist() == [0, 5, 7, 0]


def test_an_exception_keeps_what_its_frames_were_lent():
    a = np.arange(4.0).reshape(2, 2) * 0
    with pytest.raises(np.linalg.LinAlgError) as caught:
        np.linalg.inv(a)
    frame = caught.tb
    while frame.tb_next:
        frame = frame.tb_next
    shown = [v for v in frame.tb_frame.f_locals.values() if type(v) is numpy.ndarray]
    before = [v.copy() for v in shown]
    a += 1
    del a
    gc.collect()
    [np.ones(4) * 7 for _ in range(50)]
    assert all((v == b).all() and not v.flags.writeable for v, b in zip(shown, before, strict=True))


@pytest.mark.parametrize("n", [3, 3000, 100_000])
def test_a_large_result_is_an_array_like_any_other(n):
    data = numpy.random.default_rng(n).random(n)
    a = np.partition(np.array(data), n // 2)
    theirs = numpy.partition(data, n // 2)
    b, row, shown = a[...], a[1:], numpy.asarray(a)
    assert a.base is None and a.flags.writeable and a.flags.owndata and a.flags.c_contiguous
    a += 1
    a[0] = -5.0
    row[-1] = 9.0
    theirs_after = theirs + 1
    theirs_after[0], theirs_after[-1] = -5, 9
    assert (shown == theirs).all()
    assert (numpy.asarray(a) == theirs_after).all() and (numpy.asarray(b) == theirs_after).all()
    far = a * 2 + b
    assert (numpy.asarray(far) == theirs_after * 2 + theirs_after).all()
    snap = numpy.asarray(a)
    a.sort()
    assert (snap == theirs_after).all() and (numpy.asarray(a) == numpy.sort(theirs_after)).all()
    del a, b, row, far
    gc.collect()
    assert (snap == theirs_after).all() and (shown == theirs).all()


# Functions that copy what they may not write.
BIG = of("bincount, j, p; bincount, i; argmin, f; argmax, i; interp, p, sorted, p; take, f, i; take, m, i, 0; repeat, f, i * 0 + 1; choose, j, (f, p, s * 1); "
         "convolve, f, p[:3]; correlate, f, p[:3]; add.reduceat, i, i; ndarray.take, f, i; ndarray.repeat, f, i * 0 + 1; ndarray.choose, j, (f, p, f)")


@pytest.mark.skipif("BRAZE_TEST_DEVICE" in os.environ, reason="values that were computed lie on the device")
@pytest.mark.parametrize("text", BIG)
def test_arguments_are_lent_without_a_copy(text):
    name, _, rest = text[1:-1].partition(", ")

    def peak(module):
        space = {k: v if module is numpy else np.array(v) for k, v in given(20_000).items() if k in "fipjsm" or k == "sorted"}
        args = eval(f"({rest},)", space)
        braze.wait(*(a for a in args if type(a) is np.ndarray))
        f = operator.attrgetter(name)(module)
        made = [f(*args)]
        del made[:]
        tracemalloc.start()
        made.append(f(*args))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most, described(made[0]), [described(a) for a in space.values() if isinstance(a, module.ndarray)]

    with near_on():
        mine, theirs = peak(np), peak(numpy)
    assert mine[0] < theirs[0] + 40_000
    assert without_order(mine[1:]) == without_order(theirs[1:])


def test_given_memory_outlives_the_array_that_a_snapshot_shows():
    a = np.cumsum(np.ones(50_000))
    shown = numpy.asarray(a)
    a[:] = 0  # elsewhere, since it is shown
    assert shown[-1] == 50_000 and float(a[-1]) == 0
    del a
    gc.collect()
    assert shown[:3].tolist() == [1, 2, 3]


def test_sorting_in_place_is_seen_through_views_and_not_through_exports():
    for n in (5, 5000):
        data = numpy.random.default_rng(1).random(n)
        a = np.array(data)
        view, shown = a[::2], numpy.asarray(a)
        a.sort()
        assert (numpy.asarray(view) == numpy.sort(data)[::2]).all() and (shown == data).all()
        b = np.array(data)
        b[::2].sort()
        theirs = data.copy()
        theirs[::2].sort()
        assert (numpy.asarray(b) == theirs).all()


def test_what_may_not_be_written_is_not_sorted():
    a = np.broadcast_to(np.array([2.0, 1.0]), (2, 2))
    for write in (lambda: a.sort(), lambda: np.put(a, 0, 1), lambda: np.random.shuffle(a)):
        with pytest.raises(ValueError):
            write()
    assert a.tolist() == [[2, 1], [2, 1]]


def test_pending_arrays_are_waited_for_where_only_numpy_computes():
    with braze.device("cpu"):
        a = np.array([3.0, 1.0, 2.0]) * 2
        assert np.partition(a, [0, 1]).tolist() == [2, 4, 6] and np.cumsum(a * 1).tolist() == [6, 8, 12]


def test_calls_are_counted_by_name():
    before = braze.fallbacks()
    np.partition(np.ones(3), 1)
    np.ones(3).argpartition(1)
    np.random.default_rng(0).normal(size=3)
    after = braze.fallbacks()
    for name in ("partition", "ndarray.argpartition", "random.normal"):
        assert after[name] == before.get(name, 0) + 1


def test_calls_of_two_threads_do_not_meet():
    a = np.array(numpy.random.default_rng(0).random(20_000))
    wrong = []

    def work(k):
        for _ in range(30):
            mine = np.sort(a)
            if float(mine[0]) != float(a.min()):
                wrong.append(k)
            b = a.copy()
            b += k
            b.sort()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


PLAIN = """np.sort(F); np.argsort(F); np.cumsum(F); F.cumsum(); F.argsort(); F.sort(); np.unique(I); np.searchsorted(F, 2.0); np.nonzero(F)
np.take(F, I); F.take(I); F[I]; F[K]; F[K] = 0.5; F[I] = 1.0; F[I] += 1.0; np.concatenate((F, F)); np.tile(F, 2); np.repeat(F, 2); np.roll(F, 1)
np.random.rand(3); np.random.normal(0.0, 1.0, 3); G.random(3); G.normal(size=3); G.integers(0, 9, 3); np.linalg.inv(Q); np.linalg.norm(F)
np.linalg.solve(Q, V); np.linalg.det(Q); np.median(F); np.percentile(F, 50); np.histogram(F, 3); np.bincount(I)
np.diff(F); np.compress(K, F); np.random.shuffle(F); G.permutation(F); np.put(F, I, 1.0); F.tolist(); F.tobytes(); np.count_nonzero(K)"""


# Near, whatever this process is: what braze computes is recorded by Python elsewhere.
FRAMES = """
import sys, numpy, braze.numpy as np
from frames import frames_of
for statement in sys.argv[1].split(";"):
    space = {"np": np, "F": np.arange(3.0), "I": np.array([2, 0, 1]), "K": np.array([True, False, True]), "Q": np.eye(3), "V": np.ones(3),
             "G": np.random.default_rng(0)}
    entered = frames_of(statement.strip(), space)
    if entered:
        print(statement, entered)
"""


def test_no_frame_of_ours_is_entered():
    env = {k: v for k, v in os.environ.items() if k not in ("BRAZE_NEAR", "BRAZE_DEVICE")}
    env["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, "-c", FRAMES, PLAIN.replace("\n", ";")], env=env, stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout == ""


OF_LISTS = """np.diff(x); np.diff(x, n=2); np.take(x, i); np.tile(x, 2); np.repeat(x, 2); np.roll(x, 1); np.column_stack((x, x)); np.tril([x, x]);
np.argmin(x); np.any(x); np.count_nonzero(x); np.median(x); np.sort(x); np.cumsum(x); np.unique(x)"""

FIRST_CALLS = """
import sys, braze, numpy, braze.numpy as np
x, i = [3, 1, 2], numpy.array([2, 0])
for statement in sys.argv[1].split(";"):
    braze.close()
    mine, theirs = eval(statement.strip()), eval(statement.strip(), {"np": numpy, "x": x, "i": i})
    assert numpy.array_equal(mine, theirs), statement
assert np.diff(x, n=0) is x
"""


def test_functions_of_lists_are_a_process_first_call():
    """There is no session yet."""
    env = {k: v for k, v in os.environ.items() if k not in ("BRAZE_NEAR", "BRAZE_DEVICE")}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    subprocess.run([sys.executable, "-c", FIRST_CALLS, OF_LISTS.replace("\n", " ")], env=env, check=True)

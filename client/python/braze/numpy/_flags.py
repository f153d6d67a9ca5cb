# SPDX-License-Identifier: Apache-2.0
"""The facts of an array's layout that numpy.ndarray.flags names, and who may write."""

import warnings

from braze import _core

ndarray = _core.ndarray

# The bits of numpy.ndarray.flags.num.
_C, _F, _OWN, _ALIGNED, _WRITE, _BACK, _WARN = 1, 2, 4, 0x100, 0x400, 0x2000, 1 << 31
_NAMES = {
    "C": "c_contiguous", "CONTIGUOUS": "c_contiguous", "C_CONTIGUOUS": "c_contiguous",
    "F": "f_contiguous", "FORTRAN": "f_contiguous", "F_CONTIGUOUS": "f_contiguous",
    "W": "writeable", "WRITEABLE": "writeable", "B": "behaved", "BEHAVED": "behaved",
    "O": "owndata", "OWNDATA": "owndata", "A": "aligned", "ALIGNED": "aligned",
    "X": "writebackifcopy", "WRITEBACKIFCOPY": "writebackifcopy",
    "CA": "carray", "CARRAY": "carray", "FA": "farray", "FARRAY": "farray",
    "FNC": "fnc", "FORC": "forc",
}
_SETTABLE = ("writeable", "aligned", "writebackifcopy")
_SHOWN = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")


def is_c(a):
    """Is the array, ours or NumPy's, C-contiguous?"""
    return bool(_core.orders(a) & 1) if type(a) is ndarray else a.flags.c_contiguous


def is_f(a):
    """Is the array, ours or NumPy's, Fortran-contiguous?"""
    return bool(_core.orders(a) & 2) if type(a) is ndarray else a.flags.f_contiguous


class flags:
    """What numpy.ndarray.flags tells, as it was when it was asked for."""

    def __init__(self, array):
        self._array = array
        self._bits = _core.facts(array)

    num = property(lambda self: self._bits - (1 << 32) if self._bits & _WARN else self._bits)
    c_contiguous = contiguous = property(lambda self: bool(self._bits & _C))
    f_contiguous = fortran = property(lambda self: bool(self._bits & _F))
    owndata = property(lambda self: bool(self._bits & _OWN))
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)
    behaved = property(lambda self: self.aligned and bool(self._bits & _WRITE))
    carray = property(lambda self: self.behaved and self.c_contiguous)
    # Not what it is called, but what NumPy's says.
    farray = property(lambda self: bool(self._bits & (_F | _ALIGNED | _WRITE)
                                        and not self._bits & _C))
    _writeable_no_warn = property(lambda self: bool(self._bits & _WRITE))

    @property
    def writeable(self):
        """May the elements be changed?"""
        if self._bits & _WARN:
            warnings.warn(
                "what np.broadcast_arrays stretched may be written for now: set the writeable "
                "flag to say what is meant",
                FutureWarning,
                stacklevel=2,
            )
        return bool(self._bits & _WRITE)

    @writeable.setter
    def writeable(self, value):
        self._set(write=bool(value))

    @property
    def aligned(self):
        """Do the elements lie as the machine likes them?"""
        return bool(self._bits & _ALIGNED)

    @aligned.setter
    def aligned(self, value):
        self._set(align=bool(value))

    @property
    def writebackifcopy(self):
        """Never: no array of braze's stands for another."""
        return False

    @writebackifcopy.setter
    def writebackifcopy(self, value):
        self._set(uic=bool(value))

    @property
    def _warn_on_write(self):
        return bool(self._bits & _WARN)

    @_warn_on_write.setter
    def _warn_on_write(self, value):
        if not value:
            raise ValueError("can only set '_warn_on_write' flag to True")
        if self._bits & _WRITE:
            _core.set_writing(self._array, 2)
        self._bits = _core.facts(self._array)

    def _set(self, **kwargs):
        set_flags(self._array, **kwargs)
        self._bits = _core.facts(self._array)

    def __getitem__(self, name):
        if not isinstance(name, str) or name not in _NAMES:
            raise KeyError("Unknown flag")
        return getattr(self, _NAMES[name])

    def __setitem__(self, name, value):
        if not isinstance(name, str) or _NAMES.get(name) not in _SETTABLE:
            raise KeyError("Unknown flag")
        setattr(self, _NAMES[name], value)

    def __eq__(self, other):
        return self.num == other.num if hasattr(other, "num") else NotImplemented

    __hash__ = None

    def __repr__(self):
        rows = [f"  {name} : {self[name]}" for name in _SHOWN]
        if self._bits & _WARN:
            rows[3] += "  (with WARN_ON_WRITE=True)"
        return "\n".join(rows) + "\n"


def set_flags(self, write=None, align=None, uic=None):
    """Forbid or allow writing; allowed only where the owner may be written."""
    if self._is_scalar:
        return
    if align and not _core.facts(self) & _ALIGNED:
        raise ValueError("cannot set aligned flag of mis-aligned array to True")
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
    if write is None:
        return
    if write and self.base is not None and _core.writing(self.base) == 1:
        raise ValueError("cannot set WRITEABLE flag to True of this array")
    _core.set_writing(self, 0 if write else 1)


def check_write(array, what="output array"):
    """NumPy's ValueError where the array may not be written."""
    if _core.writing(array) == 1:
        raise ValueError(f"{what} is read-only")

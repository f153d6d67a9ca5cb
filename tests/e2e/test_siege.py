# SPDX-License-Identifier: Apache-2.0
"""The siege itself: harm is seen, and ends with the attack that did it."""

import pytest
from siege import Sieges


def test_harmed_siege_is_replaced():
    sieges = Sieges()
    try:
        first = sieges.attack()
        first.innocent.kill()
        with pytest.raises(AssertionError):
            first.check()
        second = sieges.attack()
        assert second.pid != first.pid and first.daemon.process.poll() is not None
        second.check()
        assert sieges.attack() is second
        second.check()
    finally:
        sieges.end()


def test_unchecked_siege_is_replaced():
    """A test that failed before its check has left what nobody looked at."""
    sieges = Sieges()
    try:
        first = sieges.attack()
        assert sieges.attack() is not first
        sieges.siege.check()
    finally:
        sieges.end()

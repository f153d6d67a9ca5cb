# SPDX-License-Identifier: Apache-2.0
"""Benchmark programs as people write them, the same text for numpy and braze.numpy.

table.py lists them; run_programs.py beside this folder runs them, and
tests/python/test_bench_programs.py compares their answers.
"""

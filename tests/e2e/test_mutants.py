# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the CUDA worker's calls of the driver, of cuBLAS, cuFFT, cuSOLVER and cuSPARSE: each is found, by the stand-in or in the results."""

import pathlib
import re

import pytest
from gpu import Gpu
from harness import ROOT, find_standin, standin_environment, wait_until

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

PROGRAM = pathlib.Path(__file__).parent / "programs" / "mutated.py"
MUTANTS = re.findall(r"^MUTANT\((\w+),", (ROOT / "tests/standin/mutant/mutants.def").read_text(), re.M)


def signs(mutant, tmp_path):
    """What tells of a mistake: the stand-in's faults, the worker's deaths and errors, the program."""
    log = tmp_path / "standin.log"
    driver = find_standin() / "libmutant.so"
    # It looks for the ends of runs as long as they may take here, so that a mark that is wrong is seen.
    env = {"BRAZE_LIBCUDA": str(driver), "BRAZE_LIBCUFFT": str(find_standin() / "libmutant_cufft.so"),
           "BRAZE_LIBCUBLAS": str(find_standin() / "libmutant_cublas.so"),
           "BRAZE_LIBCUSOLVER": str(find_standin() / "libmutant_cusolver.so"),
           "BRAZE_LIBCUSPARSE": str(find_standin() / "libmutant_cusparse.so"),
           "BRAZE_MUTANT": mutant, "BRAZE_WORKER_SPIN_US": "100000"}
    # Its clock is so slow that products are made of pieces.
    with Gpu(race=1, delay_us=300, khz=1, log=log, env=env, settings={"worker_env": "BRAZE_MUTANT"}) as gpu:
        client = gpu.daemon.popen(PROGRAM, BRAZE_DEVICE="cuda:0", BRAZE_STANDIN="race=0",
                                  BRAZE_LIBCUDA=standin_environment()["BRAZE_LIBCUDA"])

        def told():
            faults = [line for line in (log.read_text() if log.exists() else "").splitlines() if "fault" in line]
            lines = gpu.daemon.log_text().splitlines()
            return faults + [line for line in lines if re.search(r"error.*cuda_|CUDA_ERROR|warn +cuda_blas", line)]

        wait_until(lambda: client.poll() is not None or told(), 40, "its end, or a mistake")
        if client.poll() is None:
            client.kill()
            return told()
        out, err = client.communicate()
        if out.strip() != "right":
            return err.strip().splitlines()[-1:] or ["no answer"]
        if mutant:  # its memory is given back behind its end
            wait_until(told, 20, "what tells of the mistake")
        return told()


def test_without_a_mistake_nothing_is_found(tmp_path):
    assert signs("", tmp_path) == []


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_found(mutant, tmp_path):
    assert signs(mutant, tmp_path)

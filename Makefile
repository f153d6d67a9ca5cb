# SPDX-License-Identifier: Apache-2.0
# A thin front to CMake, CTest and pytest. `make help` lists the targets.
JOBS ?= $(shell n=$$(nproc); m=$$(awk '/MemTotal/ {print int($$2 / 1500000) + 1}' /proc/meminfo); \
	[ $$n -lt $$m ] && echo $$n || echo $$m)
PREFIX ?= /usr/local
PRESET ?= release
VENV   := build/venv
PYTHON_ENV := $(CURDIR)/$(VENV)/bin/python

.PHONY: all help setup build demo test test-busy test-device test-long test-libraries campaign campaign-kills bench
.PHONY: gpu-bundle lint fmt install uninstall clean
all: build

help:
	@echo 'make             build everything (sets the machine up first where needed)'
	@echo 'make setup       install missing system packages, make build/venv'
	@echo 'make build       build into build/ (PRESET=debug, asan, tsan: into build/PRESET)'
	@echo 'make demo        three NumPy programs on braze, with the kernels they became'
	@echo 'make test        all tests; ends with "N passed, N failed"'
	@echo 'make test-busy   unit, end-to-end and Python tests beside eight busy loops'
	@echo 'make test-device the whole Python suite on the stand-in for a GPU (90 minutes the first time); goes on where it was stopped'
	@echo 'make test-long   make test with long tests, clean Debians, sanitized daemons; goes on where it was stopped'
	@echo 'make campaign    new random programs and packets: SEED=N (none: fresh) MINUTES=N (10)'
	@echo "make test-numpy  NumPy's own tests and the Array API standard against braze.numpy"
	@echo 'make test-libraries  pandas, SciPy, Dask and others with braze arrays'
	@echo 'make setup-guests    Octave and OpenMPI, which some of those tests need'
	@echo 'make campaign-kills  KILLS=1000 kills of processes beside busy loops, SEED=1'
	@echo 'make bench       benchmarks against NumPy (90 minutes; QUICK=1: 15; goes on where it was stopped)'
	@echo 'make bench-peers numexpr, Numba and JAX for make bench to compare with'
	@echo 'make wheel       a self-contained Python wheel in build/dist'
	@echo 'make octave      the package for Octave in build/octave'
	@echo 'make deb         Debian packages in build/deb'
	@echo 'make gpu-bundle  a tree in .gpu/ that checks and measures a machine with a GPU'
	@echo 'make lint        budgets, names, includes, headers, formatting'
	@echo 'make fmt         format the C sources (clang-format)'
	@echo 'make install     install below PREFIX (default /usr/local), DESTDIR honoured'
	@echo 'make uninstall   remove that again (the same PREFIX and DESTDIR)'
	@echo 'make clean       remove build/, except Python environments'

setup:
	@deploy/setup.sh

.PHONY: setup-guests
setup-guests:
	@deploy/setup.sh guests

build: setup
	@deploy/build.sh $(PRESET) $(JOBS)

demo: build
	@$(PYTHON_ENV) client/python/examples/demo.py

test: build
	@$(PYTHON_ENV) tests/run.py --jobs $(JOBS)

# Goes on where it was interrupted; what it found is in build/reports/busy.*
test-busy: build
	@$(PYTHON_ENV) tests/run_apart.py --jobs $(JOBS)

# The same; build/reports/device.*
test-device: build
	@$(PYTHON_ENV) tests/run_apart.py --jobs $(JOBS) --device cuda:0

# Goes on where it was interrupted; its figures are in build/reports/kills.json
campaign-kills: build
	@$(PYTHON_ENV) tests/e2e/kills.py $(or $(KILLS),1000) --seed $(or $(SEED),1)

test-long: build
	@deploy/setup.sh --long
	@$(PYTHON_ENV) tests/run.py --jobs $(JOBS) --long

# Other libraries with braze's arrays (docs/compatibility.md), in an environment of their own.
test-libraries: build
	@deploy/venv.sh venv-libraries deploy/requirements-libraries.txt
	@build/venv-libraries/bin/python -m pytest -q -p no:cacheprovider tests/libraries

campaign: build
	@$(PYTHON_ENV) tests/campaign.py --jobs $(JOBS) --minutes $(or $(MINUTES),10) \
		$(if $(SEED),--seed $(SEED))

.PHONY: test-numpy
NUMPY_PYTHON := build/venv-numpy-suites/bin/python
# Resumable: results are kept below build/numpy-suites; the last are in build/reports.
test-numpy: build
	@deploy/venv.sh venv-numpy-suites deploy/requirements-numpy.txt
	@status=0; mkdir -p build/reports; \
	$(NUMPY_PYTHON) -m pytest -q -p no:cacheprovider --junitxml=build/reports/standard.xml \
		tests/array_api || status=1; \
	$(NUMPY_PYTHON) tests/numpy_suites/array_api.py || status=1; \
	$(NUMPY_PYTHON) tests/numpy_suites/run.py --jobs $(JOBS) || status=1; \
	$(MAKE) --no-print-directory test-libraries || status=1; \
	exit $$status

bench: build
	@$(PYTHON_ENV) tests/run.py --jobs 1 --bench

# Beside NumPy, `make bench` compares with what is in this environment, if it is there.
.PHONY: bench-peers
bench-peers: build
	@deploy/venv.sh venv-peers deploy/requirements-peers.txt

# Of what is built: nothing is compiled for it. `pip install .` compiles.
.PHONY: wheel
wheel: build
	@deploy/venv.sh venv-wheel deploy/requirements-wheel.txt
	@deploy/wheel.sh

# The source package for Octave's `pkg install`, which compiles it.
.PHONY: octave
octave:
	@client/octave/package.sh build/octave

.PHONY: deb
deb:
	@JOBS=$(JOBS) deploy/deb.sh

gpu-bundle: build
	@deploy/bundle.sh .gpu

lint: build
	@$(PYTHON_ENV) deploy/lint/lint.py

fmt:
	@command -v clang-format >/dev/null || { echo 'fmt: clang-format is not installed' >&2; exit 1; }
	@git ls-files -co --exclude-standard '*.c' '*.h' '*.cc' '*.hh' | xargs clang-format -i

install:
	@[ -f build/CMakeCache.txt ] || { echo 'install: run make first' >&2; exit 1; }
	@DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'

uninstall:
	@DESTDIR='$(DESTDIR)' cmake -DPREFIX='$(PREFIX)' -P deploy/install/uninstall.cmake

clean:
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name 'venv*' -exec rm -rf {} +

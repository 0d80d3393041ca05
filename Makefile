# A thin front for CMake and Ninja. `make help` lists the targets.
#
#   PREFIX=/usr/local  DESTDIR=   where `make install` puts things
#   JOBS=                         compile and test jobs (default: the cores)
#   BUILD_ROOT=build              where the build folders stand
#   CC=                           the compiler, if it is not to be cc
#   SECONDS=600                   how long `make fuzz` runs each target

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD_ROOT ?= build
SECONDS ?= 600

release = $(BUILD_ROOT)/release
core = $(BUILD_ROOT)/core
sanitize = $(BUILD_ROOT)/sanitize
thread = $(BUILD_ROOT)/thread
clang = $(BUILD_ROOT)/clang
neon = $(BUILD_ROOT)/neon
emulated = $(BUILD_ROOT)/emulated
fuzz = $(BUILD_ROOT)/fuzz
coverage = $(BUILD_ROOT)/coverage
abi = $(BUILD_ROOT)/abi
arm_packages = $(BUILD_ROOT)/arm-packages

# configure,FOLDER,OPTIONS: errors and warnings come on the other stream.
configure = cmake -S . -B $(1) -G Ninja -DATTN_WERROR=ON -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(2) >/dev/null
with_tests = -DATTN_TESTS=ON -DCMAKE_BUILD_TYPE
with_fuzzing = -DATTN_FUZZ=ON -DCMAKE_BUILD_TYPE=Fuzz -DCMAKE_C_COMPILER=clang -DATTN_SANITIZE=$(sanitizers)
sanitizers = address$(comma)undefined
comma = ,
compile = cmake --build $(1) --parallel $(JOBS)
# No test is ever skipped: a folder without tests is an error.
run_tests = ctest --test-dir $(1) --output-on-failure --no-tests=error --parallel $(JOBS) $(2)

# ThreadSanitizer needs a fixed memory layout on kernels that randomise a lot of it.
fixed_layout = $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: all core demo test test-full test-peers fuzz coverage abi bench results install format clean help dependencies-%
.DEFAULT_GOAL := all

all: ## build the library and the program (build/release)
all: dependencies-build
	@$(call configure,$(release),-DCMAKE_BUILD_TYPE=Release)
	@$(call compile,$(release)) --target library program

core: ## build libattn_core alone: operators, tape, layers, optimisers; needs no other library (build/core)
core:
	@$(call configure,$(core),-DCMAKE_BUILD_TYPE=Release -DATTN_CORE_ONLY=ON)
	@$(call compile,$(core)) --target library

demo: ## learn to pronounce English in two minutes, and see how it does it
demo: all
	@BUILD=$(release) tools/demo

test: ## the tests, plain and under AddressSanitizer + UBSan, and a little fuzzing (minutes)
test: dependencies-test
	@$(call configure,$(fuzz),$(with_fuzzing))
	@$(call configure,$(release),$(with_tests)=Release)
	@$(call configure,$(sanitize),$(with_tests)=RelWithDebInfo -DATTN_SANITIZE=$(sanitizers))
	@$(call compile,$(release))
	@$(call compile,$(sanitize))
	@$(call compile,$(fuzz)) --target fuzz
	$(call run_tests,$(fuzz))
	$(call run_tests,$(release),-LE full)
	$(call run_tests,$(sanitize),-LE full)

test-full: ## everything: more shapes and threads, ThreadSanitizer, clang, NEON under QEMU, AVX-512 emulated with AVX2
test-full: dependencies-full
	@tools/dependencies arm-packages $(arm_packages)
	@$(call configure,$(fuzz),$(with_fuzzing))
	@$(call configure,$(release),$(with_tests)=Release)
	@$(call configure,$(sanitize),$(with_tests)=RelWithDebInfo -DATTN_SANITIZE=$(sanitizers))
	@$(call configure,$(thread),$(with_tests)=RelWithDebInfo -DATTN_SANITIZE=thread)
	@$(call configure,$(clang),$(with_tests)=Release -DCMAKE_C_COMPILER=clang)
	@$(call configure,$(neon),$(with_tests)=Release -DATTN_CROSS_ROOT=$(abspath $(arm_packages)) \
	    -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/aarch64-linux-gnu.cmake)
	@$(call configure,$(emulated),$(with_tests)=Release -DATTN_EMULATE_AVX512=ON -DATTN_MPI=OFF)
	@$(call compile,$(release))
	@$(call compile,$(sanitize))
	@$(call compile,$(thread))
	@$(call compile,$(clang))
	@$(call compile,$(neon))
	@$(call compile,$(emulated))
	@$(call compile,$(fuzz)) --target fuzz
	$(call run_tests,$(fuzz))
	$(call run_tests,$(release))
	$(call run_tests,$(sanitize))
	$(fixed_layout) $(call run_tests,$(thread),-LE full)
	$(call run_tests,$(clang),-LE full)
	$(call run_tests,$(neon),-LE full)
	$(call run_tests,$(emulated))

test-peers: ## compare with PyTorch in double precision (installs it under build/)
test-peers: dependencies-peers all
	@BUILD=$(release) tests/peers/run

fuzz: ## run every fuzz target for SECONDS (600); what it finds lies in build/fuzz/findings
fuzz: dependencies-test
	@$(call configure,$(fuzz),$(with_fuzzing))
	@$(call compile,$(fuzz)) --target fuzz
	@ls tests/fuzz/fuzz_*.c | sed 's/.*fuzz_\(.*\)\.c/\1/' | \
	    xargs -P $(JOBS) -I NAME tests/fuzz/run $(fuzz) NAME $(SECONDS) keep

coverage: ## which lines and branches of src/ and cli/ the tests run; the report is in build/coverage
coverage: dependencies-coverage
	@$(call configure,$(coverage),$(with_tests)=Release -DATTN_COVERAGE=ON -DCMAKE_C_COMPILER=clang)
	@$(call compile,$(coverage))
	@rm -rf $(coverage)/profiles
	LLVM_PROFILE_FILE=$(abspath $(coverage))/profiles/%4m.profraw $(call run_tests,$(coverage),-LE full)
	@tools/coverage $(coverage)

# Built with -g; kernels for instruction sets are no part of the interface.
abi: ## compare exported symbols and struct layouts with the last release, by libabigail (minutes)
abi: abi-compare

abi-%: dependencies-abi
	@$(call configure,$(abi),-DCMAKE_BUILD_TYPE=Fuzz -DATTN_COMPILER_HAS_AVX2=OFF -DATTN_COMPILER_HAS_AVX512=OFF)
	@$(call compile,$(abi)) --target attn_shared
	@tools/abi $(abi) $*

bench: ## measure against PyTorch, ONNX Runtime and oneDNN; writes docs/bench.md
bench: dependencies-bench all
	@BUILD=$(release) bench/run

results: ## train on real data: make results DATA=FOLDER; writes docs/results.md (hours)
results: all
	@DATA="$(DATA)" BUILD=$(abspath $(release)) bench/results/all

install: ## install under PREFIX (and DESTDIR)
install: all
	@DESTDIR=$(DESTDIR) cmake --install $(release) --prefix $(PREFIX)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi

format: ## run clang-format over the C sources
format: dependencies-format
	@git ls-files --cached --others --exclude-standard -- '*.c' '*.h' | xargs clang-format -i

clean: ## remove the build folders of this Makefile
	@rm -rf $(release) $(core) $(sanitize) $(thread) $(clang) $(neon) $(emulated) $(fuzz) $(coverage) $(abi) \
	    $(arm_packages)

help: ## this list
	@sed -n 's/^\([a-z-]*\): ## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

dependencies-%:
	@tools/dependencies $*

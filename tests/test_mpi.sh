#!/bin/bash
# Ranks under a real launcher: all calls of the exchange and the sums of gradients, with 2, 3 and 4 ranks on
# this machine; a rank that gives up or is killed ends the job; a module that is missing or of another MPI is
# an error. Neither the program nor the library links MPI. A watchdog ends what hangs.
set -euo pipefail
: "${BUILD_DIR:?}" "${SOURCE_DIR:?}" "${ATTN_PROGRAM:?}"
ranks=$BUILD_DIR/tests/mpi_ranks
module=$BUILD_DIR/libattn-mpi.so

fail() {
    echo "FAILED: $*" >&2
    sed 's/^/  out: /' "$folder/out" >&2
    sed 's/^/  err: /' "$folder/err" >&2
    exit 1
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
touch "$folder/out" "$folder/err"

for file in "$ATTN_PROGRAM" "$ranks" "$BUILD_DIR"/libattn.so; do
    if [ -e "$file" ] && readelf -d "$file" | grep NEEDED | grep -qiE 'mpi|pmi'; then
        fail "$file links MPI"
    fi
done
if ! command -v mpirun >/dev/null || [ ! -e "$module" ]; then
    echo "skipped: there is no mpirun or no $module (Debian: openmpi-bin libopenmpi-dev)"
    exit 77
fi
readelf -d "$module" | grep NEEDED | grep -qi mpi || fail "$module does not link MPI"
if readelf -d "$module" | grep NEEDED | grep -q libattn; then fail "$module links the library"; fi

# shellcheck source=tests/support/launcher.sh
. "$SOURCE_DIR/tests/support/launcher.sh"

launch() { # launch RANKS WORD...: leaves out, err and status; 124 is the watchdog's
    local count=$1
    shift
    status=0
    timeout 120 mpirun -n "$count" "$ranks" "$@" >"$folder/out" 2>"$folder/err" || status=$?
    [ "$status" -ne 124 ] || fail "mpirun -n $count $*: hangs"
}

export ATTN_MPI=$module
for count in 2 3 4; do
    launch "$count" check
    [ "$status" -eq 0 ] || fail "$count ranks: exit code $status"
    [ "$(grep -c "of $count: fine 18$" "$folder/out")" -eq "$count" ] || fail "$count ranks: not all are fine"
done
for count in 2 4; do # as ranks of several hosts do, which do not see each other's memory
    ATTN_EXCHANGE=messages launch "$count" check
    [ "$(grep -c "of $count: fine 18$" "$folder/out")" -eq "$count" ] || fail "$count ranks, messages: not all are fine"
done
ATTN_EXCHANGE=messages ATTN_MPI=$BUILD_DIR/tests/libmpi_pieces.so launch 3 check # in many pieces
[ "$(grep -c "of 3: fine 18$" "$folder/out")" -eq 3 ] || fail "in pieces: not all are fine"
launch 1 check
if [ "$status" -ne 0 ] || ! grep -qx alone "$folder/out"; then fail "one rank is not alone"; fi

# A rank that gives up, and one that is killed, while the others wait for it.
launch 3 abort 1 7
[ "$status" -eq 7 ] || fail "a rank ends the job with 7: exit code $status"
launch 3 kill 2
[ "$status" -ne 0 ] || fail "a killed rank: exit code 0"

# No module; one of another version; ranks that MPI does not see, as under the launcher of another MPI.
ATTN_MPI=/nowhere/libattn-mpi.so launch 2 check
if [ "$status" -eq 0 ] || ! grep -q '/nowhere/libattn-mpi.so.*libopenmpi-dev' "$folder/err"; then
    fail "a missing module: exit code $status"
fi
cat >"$folder/other.c" <<'CODE'
#include "train/exchange.h"
int at_exchange_module(at_exchange_calls *calls, char *text);
int at_exchange_module(at_exchange_calls *calls, char *text) { return text[0] + (calls->version = 99) - 99; }
CODE
"${CC:-cc}" -shared -fPIC -I"$SOURCE_DIR/src" -I"$SOURCE_DIR/include" "$folder/other.c" -o "$folder/other.so"
ATTN_MPI=$folder/other.so launch 2 check
if [ "$status" -eq 0 ] || ! grep -q 'another version of attn (module 99, attn 3)' "$folder/err"; then
    fail "a module of another version: exit code $status"
fi
status=0
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 timeout 120 "$ranks" check >"$folder/out" 2>"$folder/err" || status=$?
if [ "$status" -ne 2 ] || ! grep -q 'started 2 processes, but .* sees one' "$folder/err"; then
    fail "another MPI's launcher: exit code $status"
fi
echo "ranks under $(mpirun --version | head -1): fine"

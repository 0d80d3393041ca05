#!/bin/bash
# launcher.sh: settings for mpirun in tests, whichever MPI it is of; sourced by them.
#
# Open MPI: more ranks than cores, as root too, not bound to a core; and no ssh, which it looks for even if all
# ranks are on this machine. MPICH knows none of these, and needs none.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_plm_rsh_agent=sh
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's own
unset ATTN_MPI

// A failing process soon ends the run on all, with one message that names the
// rank and the collective. mpirun adds its own notice.
// REQUIRES: mpi

// RUN: timeout 1200 %mpirun -n 4 TpspProcessFaults none 0 | FileCheck %s --check-prefix=NONE
// NONE: all gathered

// A rank that waited for the dead rank names it; mpirun says how it ended.
// RUN: not timeout 1200 %mpirun -n 4 TpspProcessFaults dies 2 2>&1 | FileCheck %s --check-prefix=DIES --implicit-check-not="run: "
// DIES: TpspProcessFaults: rank {{[013]}}: %gathered: {{.*}} waited for rank 2
// DIES: exited on signal 9

// The first rank is no exception.
// RUN: not timeout 1200 %mpirun -n 4 TpspProcessFaults dies 0 2>&1 | FileCheck %s --check-prefix=FIRST --implicit-check-not="run: "
// FIRST: TpspProcessFaults: rank {{[123]}}: %gathered: {{.*}} waited for rank 0

// RUN: not timeout 1200 %mpirun -n 4 TpspProcessFaults missing 1 2>&1 | FileCheck %s --check-prefix=MISSING --implicit-check-not="run: "
// MISSING: TpspProcessFaults: rank {{[023]}}: %gathered: waited 10.0 s for rank 1 (in another process)

// RUN: not timeout 1200 %mpirun -n 4 TpspProcessFaults fails 3 2>&1 | FileCheck %s --check-prefix=FAILS --implicit-check-not="run: "
// FAILS: TpspProcessFaults: rank 3: the disk is full

// RUN: not timeout 1200 %mpirun -n 2 TpspProcessFaults differs 1 2>&1 | FileCheck %s --check-prefix=DIFFERS --implicit-check-not="run: "
// DIFFERS: TpspProcessFaults: rank [[R:[01]]]: %gathered: rank [[R]] calls all_gather axes=x {{.*}} where rank {{[01]}} (in another process) calls something else

// Nothing is left behind.
// RUN: not pgrep -x TpspProcessFau

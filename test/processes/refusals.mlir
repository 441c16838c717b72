// Refusals of processes together are printed once.
// REQUIRES: mpi, tpsp-run

// RUN: not timeout 1200 %mpirun -n 2 tpsp-run %examples/gpt-block-sp.mlir 2>&1 | FileCheck %s --check-prefix=SIZE --implicit-check-not="run: "
// SIZE: tpsp-run: the mesh [tp=4] has 4 ranks, but mpirun has started 2 processes; start it with -n 4, or give the mesh other sizes

// RUN: not timeout 1200 %mpirun -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --grad : -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 2>&1 | FileCheck %s --check-prefix=GRAD --implicit-check-not="run: "
// GRAD: tpsp-run: --grad of rank 1 is not that of rank 0; give all processes the same
// PLAN: tpsp-run: rank 1 has another program than rank 0

// RUN: not timeout 1200 %mpirun -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --seed 3 : -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --seed 4 2>&1 | FileCheck %s --check-prefix=SEED --implicit-check-not="run: "
// SEED: tpsp-run: --seed of rank 1 is not that of rank 0; give all processes the same
// RUN: sed 's/ gelu/ relu/' %examples/mlp-sp.mlir > %t.relu.mlir
// RUN: not timeout 1200 %mpirun -n 1 tpsp-run %examples/mlp-sp.mlir --mesh tp=2 : -n 1 tpsp-run %t.relu.mlir --mesh tp=2 2>&1 | FileCheck %s --check-prefix=PLAN --implicit-check-not="run: "

// A command line that all processes have is refused once, with its status.
// RUN: %S/../Tools/Inputs/exits 2 timeout 1200 %mpirun -n 2 tpsp-run --steps none %examples/gpt-block-sp.mlir 2>&1 | FileCheck %s --check-prefix=USAGE --implicit-check-not="run: "
// USAGE: tpsp-run: --steps:
// RUN: timeout 1200 %mpirun -n 2 tpsp-run --help | FileCheck %s --check-prefix=HELP
// HELP-COUNT-1: Usage: {{.*}}tpsp-run
// HELP-NOT: Usage:

// A command line that one process has alone is refused with its rank and ends
// the others. No process waits for it, however long --timeout is.
// DEFINE: %{two} = %examples/gpt-block-sp.mlir --mesh tp=2 --timeout 1e6
// DEFINE: %{run} = tpsp-run %{two}
// RUN: %S/../Tools/Inputs/exits 2 timeout 1200 %mpirun -n 1 %{run} : -n 1 %{run} --steps none 2>&1 | FileCheck %s --check-prefix=ALONE1 --implicit-check-not="run: "
// ALONE1: tpsp-run: rank 1: --steps:
// RUN: %S/../Tools/Inputs/exits 2 timeout 1200 %mpirun -n 1 %{run} --stepz 3 : -n 1 %{run} 2>&1 | FileCheck %s --check-prefix=ALONE0 --implicit-check-not="run: "
// ALONE0: tpsp-run: rank 0: {{.*}}--stepz
// RUN: %S/../Tools/Inputs/exits 2 timeout 1200 %mpirun -n 1 %{run} --stepz 3 : -n 1 %{run} --emit %t.so --verify 2>&1 | sort | FileCheck %s --check-prefix=BOTH --implicit-check-not="run: "
// BOTH: tpsp-run: rank 0: {{.*}}--stepz
// BOTH: tpsp-run: rank 1: --verify does not go with --emit
// RUN: %S/../Tools/Inputs/exits 2 timeout 1200 %mpirun -n 1 %{run} : -n 1 %{run} --help 2>&1 | FileCheck %s --check-prefix=ASKS --implicit-check-not="run: " --implicit-check-not="Usage:"
// ASKS: tpsp-run: rank 1: asks for help, and the others do not

// One process has another task: refused before anything is compiled.
// RUN: not timeout 1200 %mpirun -n 1 %{run} : -n 1 %{run} --simulate 2>&1 | FileCheck %s --check-prefix=SIMULATES --implicit-check-not="run: "
// SIMULATES: tpsp-run: --simulate of rank 1 is not that of rank 0; give all processes the same
// RUN: not timeout 1200 %mpirun -n 1 %{run} --save %t.one : -n 1 %{run} --save %t.other 2>&1 | FileCheck %s --check-prefix=SAVES --implicit-check-not="run: "
// SAVES: tpsp-run: --save of rank 1 is not that of rank 0
// An option left to the tool differs from the same value given.
// RUN: not timeout 1200 %mpirun -n 1 %{run} --attention rows : -n 1 %{run} 2>&1 | FileCheck %s --check-prefix=LEFT --implicit-check-not="run: "
// LEFT: tpsp-run: --attention of rank 1 is not that of rank 0
// All ranks that differ are named.
// RUN: not timeout 1200 %mpirun -n 1 tpsp-run %examples/gpt-block-sp.mlir : -n 1 tpsp-run %examples/gpt-block-sp.mlir --grad : -n 1 tpsp-run %examples/gpt-block-sp.mlir : -n 1 tpsp-run %examples/gpt-block-sp.mlir --grad 2>&1 | FileCheck %s --check-prefix=RANKS --implicit-check-not="run: "
// RANKS: tpsp-run: --grad of ranks 1, 3 is not that of rank 0

// Files of other contents are refused; copies of one are not.
// RUN: tpsp-run %{two} --quiet --save %t.a.st --seed 1
// RUN: tpsp-run %{two} --quiet --save %t.b.st --seed 2
// RUN: cp %t.a.st %t.copy.st
// RUN: not timeout 1200 %mpirun -n 1 %{run} --weights %t.a.st : -n 1 %{run} --weights %t.b.st 2>&1 | FileCheck %s --check-prefix=WEIGHTS --implicit-check-not="run: "
// WEIGHTS: tpsp-run: --weights of rank 1 has other contents than '{{.*}}.a.st' of rank 0; give all processes the same file
// RUN: not timeout 1200 %mpirun -n 1 %{run} --inputs %t.a.st : -n 1 %{run} --inputs %t.b.st 2>&1 | FileCheck %s --check-prefix=INPUTS --implicit-check-not="run: "
// INPUTS: tpsp-run: --inputs of rank 1 has other contents than '{{.*}}.a.st' of rank 0
// RUN: timeout 1200 %mpirun -n 1 %{run} --weights %t.a.st --quiet : -n 1 %{run} --weights %t.copy.st --quiet
// Equal indices whose parts differ.
// RUN: rm -rf %t.d0 %t.d1 && mkdir %t.d0 %t.d1 && cp %t.a.st %t.d0/part.st && cp %t.b.st %t.d1/part.st
// RUN: python3 %S/Inputs/write-index.py %t.a.st %t.d0/index.json %t.d1/index.json
// RUN: not timeout 1200 %mpirun -n 1 %{run} --weights %t.d0/index.json : -n 1 %{run} --weights %t.d1/index.json 2>&1 | FileCheck %s --check-prefix=PARTS --implicit-check-not="run: "
// PARTS: tpsp-run: --weights of rank 1 has other contents than '{{.*}}d0/part.st' of rank 0

// A failure of one process alone is printed with its rank.
// RUN: not timeout 1200 %mpirun -n 1 %{run} --weights %t.a.st : -n 1 %{run} --weights %t.absent.st 2>&1 | FileCheck %s --check-prefix=ONE --implicit-check-not="run: "
// ONE: tpsp-run: rank 1: cannot read '{{.*}}absent.st'

// mpirun may end rank 0 before it has spoken.
// RUN: not timeout 1200 %mpirun -n 2 tpsp-run %t.absent 2>&1 | FileCheck %s --check-prefix=ABSENT --implicit-check-not="run: "
// ABSENT: tpsp-run: {{(rank 1: )?}}cannot read

// Without the transport's object, mpirun's processes are refused.
// RUN: rm -rf %t.alone && mkdir %t.alone && cp %tools_dir/tpsp-run %t.alone
// RUN: not env OMPI_COMM_WORLD_SIZE=2 %t.alone/tpsp-run %examples/gpt-block-sp.mlir 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: tpsp-run: started by mpirun, but libtpsp_mpi.so is not beside {{.*}}; run without mpirun to have the ranks as threads

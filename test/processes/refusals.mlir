// What processes cannot do together is said once.
// REQUIRES: mpi, tpsp-run

// RUN: not timeout 60 %mpirun -n 2 tpsp-run %examples/gpt-block-sp.mlir 2>&1 | FileCheck %s --check-prefix=SIZE --implicit-check-not="run: "
// SIZE: tpsp-run: the mesh [tp=4] has 4 ranks, but mpirun has started 2 processes; start it with -n 4, or give the mesh other sizes

// RUN: not timeout 60 %mpirun -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --grad : -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 2>&1 | FileCheck %s --check-prefix=GRAD --implicit-check-not="run: "
// GRAD: tpsp-run: --grad of rank 1 is not that of rank 0; give all processes the same
// PLAN: tpsp-run: rank 1 has another program, or other options, than rank 0

// RUN: not timeout 60 %mpirun -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --seed 3 : -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --seed 4 2>&1 | FileCheck %s --check-prefix=SEED --implicit-check-not="run: "
// SEED: tpsp-run: --seed of rank 1 is not that of rank 0; give all processes the same
// RUN: sed 's/ gelu/ relu/' %examples/mlp-sp.mlir > %t.relu.mlir
// RUN: not timeout 60 %mpirun -n 1 tpsp-run %examples/mlp-sp.mlir --mesh tp=2 : -n 1 tpsp-run %t.relu.mlir --mesh tp=2 2>&1 | FileCheck %s --check-prefix=PLAN --implicit-check-not="run: "

// RUN: not timeout 60 %mpirun -n 2 tpsp-run --steps none %examples/gpt-block-sp.mlir 2>&1 | FileCheck %s --check-prefix=USAGE --implicit-check-not="run: "
// USAGE: tpsp-run: --steps:

// RUN: not timeout 60 %mpirun -n 2 tpsp-run %t.absent 2>&1 | FileCheck %s --check-prefix=ABSENT --implicit-check-not="run: "
// ABSENT: tpsp-run: cannot read

// Without the transport's object, mpirun's processes are refused.
// RUN: rm -rf %t.alone && mkdir %t.alone && cp %tools_dir/tpsp-run %t.alone
// RUN: not env OMPI_COMM_WORLD_SIZE=2 %t.alone/tpsp-run %examples/gpt-block-sp.mlir 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: tpsp-run: started by mpirun, but libtpsp_mpi.so is not beside {{.*}}; run without mpirun to have the ranks as threads

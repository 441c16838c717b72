// The same with processes: the one that meets the full disk says so, once, and
// the others end with it.
// REQUIRES: small-disk, mpi, tpsp-run
// RUN: rm -rf %t && mkdir %t
// RUN: not timeout 1200 %on_small_disk %t '%mpirun -n 4 tpsp-run %examples/mlp-sp.mlir --quiet --save %t/w.st; code=$?; ls %t; exit $code' > %t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --implicit-check-not=tmp
// RUN: grep -c "^tpsp-ru[n]: " %t.out | grep -x 1
// CHECK: tpsp-run: {{.*}}cannot write '{{.*}}w.st': No space left on device

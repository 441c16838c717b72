// A disk that is full while something is saved: one message, no partial file,
// the old file unchanged, and all processes end.
// REQUIRES: small-disk, tpsp-run
// RUN: rm -rf %t && mkdir %t && echo old > %t.old

// The parameters are 2 MiB, the disk has 512 KiB.
// RUN: not timeout 1200 %on_small_disk %t 'cp %t.old %t/w.st; tpsp-run %examples/mlp-sp.mlir --quiet --save %t/w.st; code=$?; cmp %t.old %t/w.st && ls %t; exit $code' 2>&1 | FileCheck %s --check-prefix=SAVE --implicit-check-not="{{differ|tmp}}"
// SAVE: tpsp-run: cannot write '{{.*}}w.st': No space left on device
// SAVE: w.st

// A compiled plan, a report and a picture are whole files or none, too.
// RUN: not timeout 1200 %on_small_disk %t 'head -c 600000 /dev/zero > %t/z 2> %t.ignored; tpsp-run %examples/mlp-sp.mlir --quiet --emit %t/p.so; code=$?; ls %t; exit $code' 2>&1 | FileCheck %s --check-prefix=EMIT --implicit-check-not="{{tmp|p.so$}}"
// EMIT: tpsp-run: cannot write '{{.*}}p.so': No space left on device
// RUN: not timeout 1200 %on_small_disk %t 'head -c 600000 /dev/zero > %t/z 2> %t.ignored; tpsp-run %examples/mlp-sp.mlir --quiet --report %t/r.json; code=$?; ls %t; exit $code' 2>&1 | FileCheck %s --check-prefix=REPORT --implicit-check-not="{{tmp|r.json$}}"
// REPORT: tpsp-run: cannot write '{{.*}}r.json': No space left on device

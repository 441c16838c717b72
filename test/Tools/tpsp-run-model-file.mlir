// Files that are no model: a sentence that names the file, and status 1.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// RUN: %S/Inputs/exits 1 tpsp-run %t/none.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}tpsp-run: cannot read '{{.*}}none.mlir': No such file or directory{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %t 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// DIRECTORY: {{^}}tpsp-run: cannot read '{{.*}}': it is a directory{{$}}

// RUN: touch %t/empty.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t/empty.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: {{^}}tpsp-run: '{{.*}}empty.mlir' is empty; a model is a module with a mesh and a function{{$}}

// Bytecode runs; cut off at any place, it is refused or lacks its function.
// RUN: tpsp-opt %examples/mlp-sp.mlir --emit-bytecode -o %t/whole.mlirbc
// RUN: tpsp-run %t/whole.mlirbc --quiet --verify
// RUN: head -c 4 %t/whole.mlirbc > %t/cut4.mlirbc
// RUN: %S/Inputs/exits 1 tpsp-run %t/cut4.mlirbc 2>&1 | FileCheck %s --check-prefix=TRUNCATED
// RUN: head -c 100 %t/whole.mlirbc > %t/cut100.mlirbc
// RUN: %S/Inputs/exits 1 tpsp-run %t/cut100.mlirbc 2>&1 | FileCheck %s --check-prefix=TRUNCATED
// RUN: head -c 400 %t/whole.mlirbc > %t/cut400.mlirbc
// RUN: %S/Inputs/exits 1 tpsp-run %t/cut400.mlirbc 2>&1 | FileCheck %s --check-prefix=TRUNCATED
// TRUNCATED: cut{{[0-9]+}}.mlirbc:0:0: error: {{.+}}
// TRUNCATED: {{^}}tpsp-run: '{{.*}}.mlirbc' is not a valid model{{$}}

// Nothing binary reaches the terminal.
// RUN: printf '\211PNG\002\001\000\000 and so on\n' > %t/binary.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t/binary.mlir 2>&1 | FileCheck %s --check-prefix=BINARY --implicit-check-not=PNG
// BINARY: {{^}}tpsp-run: '{{.*}}binary.mlir' is neither MLIR text nor MLIR bytecode{{$}}

// RUN: echo 'y = W x' > %t/prose.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t/prose.mlir 2>&1 | FileCheck %s --check-prefix=PROSE
// PROSE: prose.mlir:1:1: error:
// PROSE: {{^}}tpsp-run: '{{.*}}prose.mlir' is not a valid model{{$}}

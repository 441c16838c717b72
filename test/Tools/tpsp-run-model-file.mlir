// Files that are no model: a sentence that names the file, and status 1.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// RUN: %S/Inputs/exits 1 tpsp-run %t/none.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}tpsp-run: cannot read '{{.*}}none.mlir': No such file or directory{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %t 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// DIRECTORY: {{^}}tpsp-run: cannot read '{{.*}}': Is a directory{{$}}

// RUN: touch %t/empty.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t/empty.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: {{^}}tpsp-run: '{{.*}}empty.mlir' is empty; a model is a module with a mesh and a function{{$}}

// A program in short form is the file.
// RUN: cat %examples/mlp-sp.mlir > %t/beside.mlir && echo 'func.func private @f()' >> %t/beside.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t/beside.mlir 2>&1 | FileCheck %s --check-prefix=BESIDE
// BESIDE: {{^}}tpsp-run: '{{.*}}beside.mlir' has a module or a tpsp.program beside other operations; it is the file's only operation, so move the others into it{{$}}

// A model is text. Bytecode, whole or not, does not reach MLIR's reader.
// RUN: tpsp-opt %examples/mlp-sp.mlir --emit-bytecode -o %t/whole.mlirbc
// RUN: %S/Inputs/exits 1 tpsp-run %t/whole.mlirbc 2>&1 | FileCheck %s --check-prefix=BYTECODE
// RUN: %S/Inputs/exits 1 tpsp-opt %t/whole.mlirbc 2>&1 | FileCheck %s --check-prefix=BYTECODE
// RUN: head -c 100 %t/whole.mlirbc > %t/cut.mlirbc
// RUN: %S/Inputs/exits 1 tpsp-run %t/cut.mlirbc 2>&1 | FileCheck %s --check-prefix=BYTECODE
// RUN: %S/Inputs/exits 1 tpsp-opt - < %t/cut.mlirbc 2>&1 | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: {{^}}tpsp-{{run|opt}}: '{{.*}}' is MLIR bytecode, and tpsp reads text; write it again without --emit-bytecode{{$}}

// Nothing binary reaches the terminal.
// RUN: printf '\211PNG\002\001\000\000 and so on\n' > %t/binary.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t/binary.mlir 2>&1 | FileCheck %s --check-prefix=BINARY --implicit-check-not=PNG
// BINARY: {{^}}tpsp-{{run|opt}}: '{{.*}}binary.mlir' is no text, which a model is{{$}}

// RUN: %S/Inputs/exits 1 tpsp-opt %t/binary.mlir 2>&1 | FileCheck %s --check-prefix=BINARY --implicit-check-not=PNG

// RUN: echo 'y = W x' > %t/prose.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t/prose.mlir 2>&1 | FileCheck %s --check-prefix=PROSE
// PROSE: prose.mlir:1:1: error:
// PROSE: {{^}}tpsp-run: '{{.*}}prose.mlir' is not a valid model{{$}}

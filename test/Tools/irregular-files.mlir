// What is no regular file is refused wherever a file is read, in one sentence and at once: a pipe may
// never end, and a device has no end.
// REQUIRES: tpsp-run

// Models.
// RUN: %python %S/Inputs/irregular.py tpsp-opt @ --tpsp-explain | FileCheck %s --check-prefixes=REFUSED,FOLDER
// RUN: %python %S/Inputs/irregular.py tpsp-run @ --grad | FileCheck %s --check-prefixes=REFUSED,FOLDER
// RUN: %python %S/Inputs/irregular.py tpsp-train @ --data %s --steps 1 | FileCheck %s --check-prefixes=REFUSED,FOLDER
// RUN: %python %S/Inputs/irregular.py tpsp-plan @ --hardware h100-sxm --devices 2 --seconds 1 | FileCheck %s --check-prefixes=REFUSED,FOLDER
// Data.
// RUN: %python %S/Inputs/irregular.py tpsp-run %s --inputs x=@ | FileCheck %s --check-prefixes=REFUSED,FOLDER
// RUN: %python %S/Inputs/irregular.py tpsp-run %s --weights @ | FileCheck %s --check-prefix=REFUSED
// REFUSED: pipe: status 1: {{.*}}cannot read '{{.*}}pipe': it is not a regular file{{$}}
// REFUSED: written: status 1: {{.*}}cannot read '{{.*}}written': it is not a regular file{{$}}
// REFUSED: /dev/zero: status 1: {{.*}}cannot read '/dev/zero': it is not a regular file{{$}}
// REFUSED: socket: status 1: {{.*}}cannot read '{{.*}}socket': it is not a regular file{{$}}
// FOLDER: folder: status 1: {{tpsp-[a-z]+}}: cannot read '{{.*}}folder': Is a directory{{$}}

// A message shows the line that a location names.
// RUN: echo '#a = loc("/dev/zero":1:1)' > %t.mlir
// RUN: %S/Inputs/exits 1 tpsp-opt %t.mlir 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: echo '#a = loc("\2Fdev\2Fzero" : 1:1)' > %t.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t.mlir 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: mlir:1:10: error: a location names a file here that is not a regular file, and messages would show its line; name the source, or leave the location out
// RUN: echo 'module attributes {x.s = "/dev/zero"} {} loc("none":1:1)' > %t.mlir
// RUN: tpsp-opt %t.mlir

// Descriptions of hardware.
// RUN: %python %S/Inputs/irregular.py tpsp-run %s --simulate --hardware @ | FileCheck %s --check-prefix=HARDWARE
// RUN: %python %S/Inputs/irregular.py tpsp-plan %s --hardware @ --devices 2 | FileCheck %s --check-prefix=HARDWARE
// HARDWARE: pipe: status {{[12]}}: {{.*}}pipe' is no built-in hardware {{.*}} and cannot be read as a file: it is not a regular file
// HARDWARE: written: status {{[12]}}: {{.*}}it is not a regular file
// HARDWARE: /dev/zero: status {{[12]}}: {{.*}}it is not a regular file
// HARDWARE: socket: status {{[12]}}: {{.*}}it is not a regular file
// HARDWARE: folder: status {{[12]}}: {{.*}}Is a directory

// Configurations. A folder of a model is read; this one lacks the file.
// RUN: %python %S/Inputs/irregular.py tpsp-import @ --sequence 4 | FileCheck %s --check-prefixes=REFUSED,NOCONFIG
// NOCONFIG: folder: status 1: tpsp-import: cannot read '{{.*}}folder/config.json': No such file or directory

// Options.
// RUN: %python %S/Inputs/irregular.py tpsp-train %s --config @ | FileCheck %s --check-prefix=CONFIG
// CONFIG: pipe: status 2: tpsp-train: --config: cannot read '{{.*}}pipe': it is not a regular file
// CONFIG: written: status 2: {{.*}}it is not a regular file
// CONFIG: /dev/zero: status 2: {{.*}}it is not a regular file
// CONFIG: socket: status 2: {{.*}}it is not a regular file
// CONFIG: folder: status 2: {{.*}}Is a directory

// Recordings.
// RUN: %python %S/Inputs/irregular.py tpsp-check %s --trace @ | FileCheck %s --check-prefix=TRACE
// TRACE: pipe: status 1: {{.*}}it is not a regular file
// TRACE: written: status 1: {{.*}}it is not a regular file
// TRACE: /dev/zero: status 1: {{.*}}it is not a regular file
// TRACE: socket: status 1: {{.*}}it is not a regular file
// TRACE: folder: status 1: {{.*}}Is a directory

// A report goes into a pipe, but waits for nobody who reads it.
// RUN: rm -f %t.pipe && mkfifo %t.pipe
// RUN: %S/Inputs/exits 1 tpsp-run %s --simulate --hardware h100-sxm --report %t.pipe 2>&1 | FileCheck %s --check-prefix=UNREAD
// UNREAD: cannot write '{{.*}}.pipe': it is a pipe that nobody reads

// Standard input is a model of tpsp-opt's, and no longer than a model may be.
// RUN: tpsp-opt - < %s | FileCheck %s --check-prefix=STDIN
// STDIN: func.func @f
// RUN: %S/Inputs/exits 1 tpsp-opt - < /dev/zero 2>&1 | FileCheck %s --check-prefix=ENDLESS
// ENDLESS: {{^}}tpsp-opt: cannot read '<stdin>': it has more than 268435456 bytes, the most that are read{{$}}

tpsp.mesh @mesh <tp = 2 : model>
!x = tensor<4x6xf32, #tpsp.idx<s@tp, d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}

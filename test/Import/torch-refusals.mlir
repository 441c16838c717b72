// Archives that are refused: each in one sentence.
// RUN: rm -rf %t && mkdir %t

// All operations that are not known are listed at once, with their lines.
// RUN: not tpsp-import %S/Inputs/torch/refused.pt2 2>&1 | FileCheck %s --check-prefix=OPERATIONS
// OPERATIONS: {{^}}tpsp-import: {{.*}}refused.pt2: 2 operations cannot be expressed: aten.median.dim (make-archives.py:{{[0-9]+}}) is not known; aten.mode.default (make-archives.py:{{[0-9]+}}) is not known{{$}}

// RUN: head -c 3000 %S/Inputs/torch/dlrm.pt2 > %t/cut.pt2
// RUN: not tpsp-import %t/cut.pt2 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: {{^}}tpsp-import: {{.*}}cut.pt2: it is no archive of torch.export.save: {{.*[^.]$}}

// RUN: not tpsp-import %S/Inputs/torch/dlrm.pt2 --place tp-up 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: {{^}}tpsp-import: {{.*}}dlrm.pt2: --place knows no 'up'
// RUN: not tpsp-import %S/Inputs/torch/dlrm.pt2 --name e 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: {{^}}tpsp-import: --name 'e' is not INDEX=NAME, as e=hidden is
// RUN: not tpsp-import %S/Inputs/torch/dlrm.pt2 --name nothing=hidden 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: dlrm.pt2: --name nothing=hidden: the program has no index 'nothing'; it has {{.*}}b,

// Options of the other kind of input.
// RUN: %S/../Tools/Inputs/exits 2 tpsp-import %S/Inputs/torch/dlrm.pt2 --sequence 4 2>&1 | FileCheck %s --check-prefix=SEQUENCE
// SEQUENCE: {{^}}tpsp-import: --sequence is an option for a config.json, and '{{.*}}dlrm.pt2' is an archive: it has its own{{$}}
// RUN: echo {} > %t/config.json
// RUN: %S/../Tools/Inputs/exits 2 tpsp-import %t/config.json --sequence 4 --save-weights %t/w.st 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: {{^}}tpsp-import: --save-weights is an option for an archive of torch.export.save, and '{{.*}}config.json' is none{{$}}

// Cut, flipped and changed archives.
// RUN: python3 %S/Inputs/damage-torch.py %S/Inputs/torch/dlrm.pt2 %t/damaged.pt2 60 | FileCheck %s --check-prefix=DAMAGED
// RUN: python3 %S/Inputs/damage-torch.py %S/Inputs/torch/llama.pt2 %t/damaged.pt2 15 | FileCheck %s --check-prefix=DAMAGED
// DAMAGED: refused {{[0-9]+}}, imported {{[0-9]+}}

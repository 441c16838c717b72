// Programs that cannot be planned are refused in a sentence, with a way out.
// REQUIRES: tpsp-run
// DEFINE: %{plan} = tpsp-plan %examples/mlp-sp.mlir --forget-placements --hardware h100-sxm

// RUN: %S/Inputs/exits 2 tpsp-plan 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: tpsp-plan: model is required
// RUN: %S/Inputs/exits 1 tpsp-plan %t.none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: tpsp-plan: cannot read '{{.*}}none.mlir': {{[Nn]}}o such file
// RUN: %S/Inputs/exits 2 %{plan} --memory lots 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: tpsp-plan: --memory: 'lots' is no size; write a number and a unit, as in 75GiB
// RUN: %S/Inputs/exits 2 %{plan} --devices 0 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: tpsp-plan: --devices: expected a number above 0, not '0'
// RUN: %S/Inputs/exits 1 %{plan} --devices 7 2>&1 | FileCheck %s --check-prefix=PRIME
// PRIME: tpsp-plan: no mesh of 7 devices divides the program's indices (b = 2, s = 128, d = 256, e = 1024); give other --devices, or other extents (--extent, --pad){{$}}
// RUN: %S/Inputs/exits 1 %{plan} --devices 32768 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: tpsp-plan: h100-sxm-cluster has 16384 devices, not 32768
// RUN: %S/Inputs/exits 1 %{plan} --pin q@dp 2>&1 | FileCheck %s --check-prefix=PIN
// PIN: tpsp-plan: 'q@dp' pins index 'q', which the program does not have; it has b, s, d, e
// RUN: %S/Inputs/exits 1 %{plan} --pin b@1 -o %t.pin.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: %S/Inputs/exits 1 %{plan} --pin 'b@"x"' -o %t.pin.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: %S/Inputs/exits 1 %{plan} --pin 'b@x>' -o %t.pin.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not ls %t.pin.mlir
// AXIS: tpsp-plan: 'b@{{1|"x"|x>}}' calls an axis '{{1|"x"|x>}}', which no program can; an axis is called by a letter or _, and letters, digits, _, . and $ behind it, as in b@dp
// RUN: %S/Inputs/exits 1 %{plan} --extent b=1 --pin b@x=8 2>&1 | FileCheck %s --check-prefix=ONE-SEQUENCE
// ONE-SEQUENCE: tpsp-plan: the pin b@x=8 does not divide extent 1 of 'b'; --extent b=8 does{{$}}
// RUN: %{plan} --extent b=1 --overlap off --max-axes 1 | FileCheck %s --check-prefix=NO-PADDING --implicit-check-not='--pad b'
// NO-PADDING: illegal: {{.*}}index 'b' of {{.*}} has extent 1, which its axes ({{[a-z]+}}: 8 ranks) do not divide; the smallest extent that works: 8{{$}}
// RUN: %S/Inputs/exits 1 %{plan} --pin b@x=2,s@x=2 2>&1 | FileCheck %s --check-prefix=PINS
// PINS: tpsp-plan: no mesh of 8 devices has all that is pinned: an axis divides one class of activations, no parameter twice, and the extents of both; leave out a pin, or give one an axis of another name
// RUN: %S/Inputs/exits 1 %{plan} --pin b@x=4 2>&1 | FileCheck %s --check-prefix=EXTENT
// EXTENT: tpsp-plan: the pin b@x=4 does not divide extent 2 of 'b'
// RUN: %S/Inputs/exits 1 %{plan} --pin b@x=2,s@y=8 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: tpsp-plan: the pinned axes have 16 ranks together, which do not divide 8 devices
// RUN: %S/Inputs/exits 1 %{plan} --pin b@x,s@y,d@z,e@w 2>&1 | FileCheck %s --check-prefix=AXES
// AXES: tpsp-plan: pins name 4 axes, and a mesh has at most 3; --max-axes allows more
// RUN: %S/Inputs/exits 2 %{plan} --compare 1 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: tpsp-plan: --compare takes two plans, as in 1,2; 1 given
// RUN: %S/Inputs/exits 2 %{plan} --export xml 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: tpsp-plan: --export: {{.*}}xml

// --along prints a table of its own.
// RUN: %S/Inputs/exits 2 %{plan} --along s --json 2>&1 | FileCheck %s --check-prefix=ALONG
// RUN: %S/Inputs/exits 2 %{plan} --along s --html %t.html 2>&1 | FileCheck %s --check-prefix=ALONG
// RUN: %S/Inputs/exits 2 %{plan} --along s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=ALONG
// ALONG: tpsp-plan: --{{json|html|output}} is about the plans of one extent, and --along prints the best of several; give one of the two

// An index that no plan can cut is reported first, with its place in the model.
// DEFINE: %{llama} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --overlap off
// RUN: %S/Inputs/exits 1 %{llama} --micro-batches 3 2>&1 | FileCheck %s --check-prefix=THREE --implicit-check-not=Searched
// RUN: %S/Inputs/exits 1 %{llama} --micro-batches 3 --stages 2 2>&1 | FileCheck %s --check-prefix=THREE --implicit-check-not=Searched
// THREE: tpsp-plan: 3 micro-batches of index 'b': {{.*}}llama-tiny.mlir:{{[0-9]+}}:{{[0-9]+}}: argument #0 has index 'b' of extent 16, which 1 shards of 3 micro-batches do not divide; 2 or 4 micro-batches would
// RUN: %S/Inputs/exits 1 %{llama} --micro-batches 2 --micro-batch-index s 2>&1 | FileCheck %s --check-prefix=WHOLE --implicit-check-not=Searched
// RUN: %S/Inputs/exits 1 %{llama} --micro-batch-index s --stages 2 2>&1 | FileCheck %s --check-prefix=WHOLE --implicit-check-not=Searched
// WHOLE: tpsp-plan: 2 micro-batches of index 's': {{.*}}llama-tiny.mlir:{{[0-9]+}}:{{[0-9]+}}: {{.*}}relates positions of the batch to each other ('s' and 't')
// RUN: %S/Inputs/exits 1 %{llama} --micro-batch-index d 2>&1 | FileCheck %s --check-prefix=WIDTH --implicit-check-not=Searched
// WIDTH: tpsp-plan: 2 micro-batches of index 'd': {{.*}}llama-tiny.mlir:{{[0-9]+}}
// RUN: %S/Inputs/exits 1 %{llama} --micro-batch-index zz 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: tpsp-plan: --micro-batch-index 'zz' is no index of the program; its inputs have b, s{{$}}

// Plans that cannot be cut are in no table.
// RUN: %S/Inputs/exits 1 tpsp-plan %examples/tp.mlir --forget-placements --hardware h100-sxm --devices 4 --extent b=2 --stages 2 --pin b@dp=2 --micro-batches 2 2>&1 | FileCheck %s --check-prefix=UNCUT
// UNCUT-NOT: gap
// UNCUT: tpsp-plan: no plan's batch can be cut into as many micro-batches as its stages take; give other --micro-batches, fewer --stages, or the batch another --extent

// If nothing fits: the need of the nearest plan, and what would help.
// RUN: %S/Inputs/exits 1 %{plan} --devices 4 --memory 100KiB --max-axes 1 --overlap off 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: over by {{.*}} MiB: {{.*}}
// SMALL: tpsp-plan: no plan fits into 100.0 KiB on 4 devices; each needs at least {{.*}} MiB; a larger --memory or a smaller batch would help; no plan that fits was found on up to 16384 devices{{$}}
// The number of devices that would suffice, if one would.
// RUN: %S/Inputs/exits 1 %{plan} --devices 2 --memory 3MiB --max-axes 1 --overlap off 2>&1 | FileCheck %s --check-prefix=CLUSTER
// CLUSTER: tpsp-plan: no plan fits into 3.0 MiB on 2 devices; {{.*}}; 4 devices would do: TP+SP 4, which needs {{[0-9.]+}} MiB
// On a CPU more ranks have no more memory.
// RUN: %S/Inputs/exits 1 tpsp-plan %examples/mlp-sp.mlir --forget-placements --hardware cpu --devices 4 --memory 100KiB --max-axes 1 --overlap off 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: tpsp-plan: no plan fits into 100.0 KiB on 4 devices; each needs at least {{.*}} MiB; they share the machine's memory; a larger --memory or a smaller batch would help{{$}}
// If the search ends before a plan was found, a plan that fits is looked for.
// RUN: %{plan} --devices 2 --memory 5MiB --seconds 0 --evaluations 1 | FileCheck %s --check-prefix=TIME
// TIME: {{^}} 1 {{.*}} MiB
// TIME: plan 1 is without overlap: there was no time to schedule it
// TIME: gap {{[0-9.]+}} %: no plan with at most 3 axes and {{.*}} can be faster by more
// If none does on as many, more devices may.
// RUN: %S/Inputs/exits 1 %{plan} --devices 2 --memory 3MiB --seconds 0 --evaluations 1 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: tpsp-plan: no plan that fits into 3.0 MiB on 2 devices was found in {{.*}} s; more --seconds {{.*}}; {{4|8}} devices would do: {{.*}}, which needs {{[0-9.]+}} MiB

// --forward rejects options of the backward pass.
// RUN: %S/Inputs/exits 2 %{plan} --forward --optimizer adamw 2>&1 | FileCheck %s --check-prefix=FORWARD
// FORWARD: tpsp-plan: --optimizer updates parameters by their gradients, which --forward leaves out
// RUN: %S/Inputs/exits 2 %{plan} --forward --reduce-dtype bf16 2>&1 | FileCheck %s --check-prefix=REDUCE
// REDUCE: tpsp-plan: --reduce-dtype is about a backward pass, which --forward leaves out
// A head never has options that tpsp-run would refuse.
// RUN: %S/Inputs/exits 2 %{plan} --overlap off --overlap-memory 0.1 2>&1 | FileCheck %s --check-prefix=SERIAL
// SERIAL: tpsp-plan: --overlap-memory goes with --overlap on

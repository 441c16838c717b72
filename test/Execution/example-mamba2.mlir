// Mamba-2's loss and gradients equal those of the unsharded program. Its time
// and memory grow with the sequence, not with its square.
// REQUIRES: tpsp-run

// One layer, in f64: its vectors' gradients cancel.
// RUN: export TPSP_CODE_EFFORT=full
// RUN: sed 's/repeat 4/repeat 1/' %examples/mamba2.mlir > %t.mlir
// DEFINE: %{run} = tpsp-run %t.mlir --grad --verify --quiet --dtype f64 --extent b=2,d=20,h=4,p=3,n=5,v=30
// RUN: %{run} --mesh tp=2 --extent s=7,c=1,l=7
// RUN: %{run} --mesh cp=2,tp=1 --micro-batches 2 --optimizer adamw --clip 1 --extent s=24,c=6,l=4
// RUN: %{run} --mesh dp=2,cp=3,tp=2 --extent s=15,c=3,l=5

// In f32, a head on each rank: shards of one element, which may round well by
// chance.
// RUN: %if nightly %{ tpsp-run %t.mlir --grad --verify --quiet --mesh tp=8 --seed 11 %}

// RUN: tpsp-run %t.mlir --grad --simulate --hardware h100-sxm --extent s=16384,c=512 --report %t.1.json --quiet
// RUN: tpsp-run %t.mlir --grad --simulate --hardware h100-sxm --extent s=32768,c=1024 --report %t.2.json --quiet
// RUN: python3 %S/Inputs/grows-linearly.py %t.1.json %t.2.json

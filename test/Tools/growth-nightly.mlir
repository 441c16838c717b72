// The further chains of growth.mlir.
// REQUIRES: tpsp-run, valgrind, nightly
// RUN: %python %S/Inputs/growth.py chain 100 tpsp-run @ --grad --simulate --hardware h100-sxm
// RUN: %python %S/Inputs/growth.py chain 100 tpsp-plan @ --hardware h100-sxm --devices 1 --seconds 0 --forget-placements
// RUN: %python %S/Inputs/growth.py parameters 150 tpsp-opt @ --tpsp-explain
// RUN: %python %S/Inputs/growth.py fan 100 tpsp-opt @ --tpsp-explain
// RUN: %python %S/Inputs/growth.py sharded 20 tpsp-run @ --grad --simulate --hardware h100-sxm --overlap on
// RUN: %python %S/Inputs/growth.py parameters 150 tpsp-run @ --grad --optimizer adamw --simulate --hardware h100-sxm

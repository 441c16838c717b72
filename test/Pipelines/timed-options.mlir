// --shard-replicated time and --bucket-layers time are never slower than off.
// REQUIRES: tpsp-run
// RUN: python3 %S/Inputs/timed-options.py tpsp-run %examples %t.models

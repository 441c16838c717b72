// Imported models compute what transformers computes: logits, loss and every
// gradient, on one rank and on meshes; and transformers loads what tpsp saves.
// REQUIRES: tpsp-run, transformers
// RUN: env HF_HUB_OFFLINE=1 %python %S/Inputs/compare.py %t | FileCheck %s
// CHECK: llama {{.*}} saved and loaded: the same
// CHECK: mixtral {{.*}} saved and loaded: the same

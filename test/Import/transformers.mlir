// Imported models compute what transformers computes: logits, loss and every
// gradient, on one rank and on meshes. What tpsp saves transformers loads, and
// goes on training, and the other way round.
// REQUIRES: tpsp-run, transformers
// RUN: env HF_HUB_OFFLINE=1 %python %S/Inputs/compare.py %t | FileCheck %s
// CHECK: llama {{.*}} saved and loaded: the same
// CHECK: llama {{ *}}loss {{.*}} after four steps
// CHECK: mixtral {{.*}} saved and loaded: the same

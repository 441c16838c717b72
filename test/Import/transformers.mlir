// Imported models compute the same as transformers: logits, loss and every
// gradient, on one rank and on meshes. transformers loads and trains models
// that tpsp saves, and the reverse.
// REQUIRES: tpsp-run, transformers
// RUN: env HF_HUB_OFFLINE=1 %python %S/Inputs/compare.py %t | FileCheck %s
// CHECK: llama {{.*}} saved and loaded: the same
// CHECK: llama {{ *}}loss {{.*}} after four steps
// CHECK: mixtral {{.*}} saved and loaded: the same

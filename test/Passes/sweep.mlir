// Attention by blocks of keys. Where keys and values are gathered for it alone
// they go around a ring, and the gradients' tiles to their owners.
// RUN: tpsp-opt %s --pass-pipeline='builtin.module(tpsp-decompose-early{keep-swept},tpsp-propagate,tpsp-differentiate,tpsp-drop-primals,tpsp-insert-collectives,tpsp-fuse-collectives,tpsp-partition,tpsp-sweep,cse)' | FileCheck %s

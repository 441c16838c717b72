// RUN: tpsp-opt %s --tpsp-rematerialize=rematerialize=some --verify-diagnostics

// expected-error @below {{unknown mode 'some'; known are none, selective and full}}
module {}

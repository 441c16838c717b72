// An axis of one rank is no reason for a collective, even if its own step came before.
// RUN: tpsp-opt %s --tpsp-collective-pipeline | FileCheck %s --implicit-check-not='{{all_gather.*reason = "[^"]*@one}}'

tpsp.program <b = 6, d = 5, x = 9> {
mesh @mesh <ep = 3 : model, one = 1 : data>

// CHECK-LABEL: @gathered
// CHECK: all_gather {{.*}} ["ep", "one"] {{.*}}reason = "@ep divides x of this einsum, which the operand lacks"
func @gathered(%x: [b@ep@one, d], param %w: [x@ep, d]) -> [b@one, x@ep] {
  %y = einsum %w, %x -> [b, x, ?]
  %z = square %y
  return %z
}

// CHECK-LABEL: @returned
// CHECK: all_gather {{.*}} ["ep", "one"] {{.*}}reason = "@ep divides b, where the result does not want it"
func @returned(%x: [b@ep@one, d], param %w: [x, d]) -> [b, x] {
  %y = einsum %w, %x -> [b, x, ?]
  return %y
}
}

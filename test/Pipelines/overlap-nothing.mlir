// A program without temporaries leaves the search for overlap nothing to try.
// RUN: tpsp-opt %s '--tpsp-pipeline=overlap=on hardware=h100-sxm' | FileCheck %s
// CHECK: plan.program @model
tpsp.program <b = 64, d = 64> {
mesh @mesh <dp = 2>

func @model(%x: [b@dp, d]) -> [b, d] {
  %y = reshard %x -> [b, d]
  return %y
}
}

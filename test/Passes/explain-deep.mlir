// Two hundred layers are folded in a second. Comparing them by twos, by threes
// and so on, too, took minutes.
// RUN: sed 's/repeat 6 @/repeat 200 @/' %examples/llama-tiny.mlir | bash -c "ulimit -t 60; exec tpsp-opt --tpsp-explain -o /dev/null" | FileCheck %s
// CHECK: {{^}}forward
// CHECK: {{^}}  x 200 (layer0 to layer199)
// CHECK: {{^}}backward
// CHECK: {{^}}  x 200 (layer199 to layer0)
// CHECK: {{^}}totals

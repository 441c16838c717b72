// Ring attention: the block before a hop hides it. Eight ranks, 4096 keys each,
// in blocks of a tile.
// RUN: tpsp-opt %s --tpsp-pipeline="grad attention=blocks attention-block=4096 overlap=on hardware=h100-sxm" | FileCheck %s
// CHECK: plan.program @attention_grad {{.*}}streams = 2 : i64
// The first hops are issued before anything is computed, and the scores of the
// rank's own tile wait for neither.
// CHECK: plan.permute {{.*}} from = array<i64: 7, 0, 1, 2, 3, 4, 5, 6>, {{.*}}kind = "all_gather", {{.*}}phase = "forward"{{.*}}stream = 1 : i64
// CHECK-NOT: plan.event_wait {{[0-9]+}}{{$}}
// CHECK: plan.matmul
// CHECK: plan.kernel @{{.*}}causal_mask
// The gradients of a tile of keys and values go to their owner, seven places on.
// CHECK: plan.permute {{.*}}kind = "reduce_scatter", {{.*}}stream = 1 : i64

// Hidden at the speed of an H100's links; an eighth of the memory of rows.
// RUN: %if tpsp-run %{ tpsp-run %s --grad --simulate --hardware h100-sxm --attention blocks --attention-block 4096 --overlap on --require-overlap 0.88 --report %t.blocks --quiet %}
// RUN: %if tpsp-run %{ tpsp-run %s --grad --simulate --hardware h100-sxm --attention rows --overlap on --report %t.rows --quiet %}
// RUN: %if tpsp-run %{ python3 -c "import json, sys; b, r = (json.load(open(f)) for f in sys.argv[1:]); assert b['memory']['peak'] * 4 < r['memory']['peak'], (b['memory'], r['memory']); sent = lambda x: sum(row['bytes'] for row in x['collectives']); assert sent(b) == sent(r), (sent(b), sent(r))" %t.blocks %t.rows %}

tpsp.mesh @mesh <cp = 8 : data>
!q = tensor<1x32768x8x128xbf16, #tpsp.idx<b, s@cp, h, k>>
!k = tensor<1x32768x8x128xbf16, #tpsp.idx<b, t@cp, h, k>>
func.func @attention(%q: !q, %k: !k, %v: !k) -> !q {
  %y = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
         scale = 0.08838834764831845, causal} : (!q, !k, !k) -> !q
  return %y : !q
}

// The documents' overlaps, on the plan. Commands of a row run together.

// Column-parallel forward: the gather of xn goes around the ring while the
// rank's own tile is multiplied, straight into its place in the output. Around
// the ring on eight H100, where each hop brings a tile to multiply.
// RUN: tpsp-opt %examples/llama3-70b-block.mlir --tpsp-pipeline="grad overlap=on hardware=h100-sxm" | FileCheck %s --check-prefix=RING
// RING: plan.program @layer_grad {{.*}} events = {{[0-9]+}} : i64, {{.*}} streams = 2 : i64
// RING: %[[OWN:[0-9]+]] = plan.tile %[[OUT:[0-9]+]] {axes = array<i64: 0>, {{.*}} number = 0 : i64, tiles = 8 : i64}
// RING: %[[NEXT:[0-9]+]] = plan.tile %[[OUT]] {axes = array<i64: 0>, {{.*}} number = 7 : i64, tiles = 8 : i64}
// RING: plan.permute {{.*}} from = array<i64: 7, 0, 1, 2, 3, 4, 5, 6>, ledger = #plan.ledger<kind = "all_gather"{{.*}}stream = 1 : i64}
// RING: plan.matmul %{{[0-9]+}}, %{{[0-9]+}}, %[[OWN]]
// RING: plan.event_wait {{[0-9]+}}{{$}}
// RING-NEXT: plan.matmul %{{[0-9]+}}, %{{[0-9]+}}, %[[NEXT]]

// Row-parallel forward: the product in chunks, each scattered while the next is
// multiplied; the chunks of the result are written in place. (With epilogues the
// ring's tiles write what is multiplied here: its rows are at other places on
// every rank, and chunks are of columns.)
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-pipeline="overlap=on overlap-chunks=2 hardware=h100-sxm epilogues=false" | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: %[[Y:[0-9]+]] = plan.buffer "output"
// CHUNKS: %[[Y0:[0-9]+]] = plan.tile %[[Y]] {chunk = 4096 : i64, number = 0 : i64, tiles = 2 : i64}
// CHUNKS: %[[Y1:[0-9]+]] = plan.tile %[[Y]] {chunk = 4096 : i64, number = 1 : i64, tiles = 2 : i64}
// CHUNKS: plan.matmul
// CHUNKS: plan.reduce_scatter %{{[0-9]+}} to %[[Y0]] {{.*}}pitch = 8192 : i64, stream = 1 : i64
// CHUNKS: plan.matmul
// CHUNKS: plan.reduce_scatter %{{[0-9]+}} to %[[Y1]]

// If products of few rows are slow, chunks of columns: the product keeps its
// rows, and dense chunks are copied to its columns.
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-pipeline="overlap=on overlap-chunks=2" | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: %[[Y:[0-9]+]] = plan.buffer "output"
// COLUMNS: %[[Y0:[0-9]+]] = plan.tile %[[Y]] {chunk = 128 : i64, number = 0 : i64, tiles = 2 : i64}
// COLUMNS: plan.matmul {{.*}}sizes = array<i64: 256, 128, 256>
// COLUMNS: plan.reduce_scatter %{{[0-9]+}} to %[[DENSE:[0-9]+]] {{.*}}chunk = 4096 : i64{{.*}}outer = 2 : i64
// COLUMNS: plan.slice %[[DENSE]] to %[[Y0]] {axes = array<i64>, chunk = 128 : i64, outer = 64 : i64, pitch = 256 : i64}

// A ring's tiles in parts: with two ranks there is but one to wait for. The
// own tile's product comes first, then those of the parts as they arrive.
// RUN: python3 %S/../Execution/Inputs/ring-machine.py %S/../../hardware/cpu.json > %t.json
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-set-mesh="mesh=tp=2" --tpsp-pipeline="overlap=on overlap-chunks=2 hardware=%t.json" | FileCheck %s --check-prefix=PARTS
// PARTS: %[[S0:[0-9]+]] = plan.tile %[[S:[0-9]+]] {chunk = 16384 : i64, number = 0 : i64, parts = 2 : i64, tiles = 1 : i64}
// PARTS: %[[S1:[0-9]+]] = plan.tile %[[S]] {chunk = 16384 : i64, number = 0 : i64, part = 1 : i64, parts = 2 : i64, tiles = 1 : i64}
// PARTS: %[[T0:[0-9]+]] = plan.tile %[[T:[0-9]+]] {axes = array<i64: 0>, chunk = 16384 : i64, number = 1 : i64, parts = 2 : i64, tiles = 2 : i64}
// PARTS: %[[T1:[0-9]+]] = plan.tile %[[T]] {axes = array<i64: 0>, chunk = 16384 : i64, number = 1 : i64, part = 1 : i64, parts = 2 : i64, tiles = 2 : i64}
// PARTS: plan.permute %[[S0]] to %[[T0]] {{.*}}runs = array<i64: 2, 16384, 32768>
// PARTS: plan.permute %[[S1]] to %[[T1]]
// PARTS: plan.matmul {{.*}}sizes = array<i64: 64, 512, 256>
// PARTS: plan.event_wait
// PARTS: plan.matmul {{.*}}sizes = array<i64: 32, 512, 256>
// PARTS: plan.matmul {{.*}}sizes = array<i64: 32, 512, 256>

// Column-parallel backward: the reduce-scatter of the input's gradient is issued
// before the weight's gradient is computed, which does not wait for it.
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-pipeline="grad overlap=on overlap-chunks=1 hardware=h100-sxm" | FileCheck %s --check-prefix=BACKWARD
// BACKWARD: plan.reduce_scatter {{.*}}tensor = "g[x]"{{.*}}stream = 1 : i64
// BACKWARD: plan.matmul
// BACKWARD-NOT: plan.event_record {{.*}}stream = 1

// Bucketed gradients: the first bucket is reduced under the rest of backward.
// RUN: tpsp-opt %examples/ddp.mlir --tpsp-pipeline="grad overlap=on overlap-chunks=1 hardware=h100-sxm bucket-bytes=200000" | FileCheck %s --check-prefix=BUCKETS
// BUCKETS: plan.all_reduce({{.*}}stream = 1 : i64
// BUCKETS: plan.matmul {{.*}}
// BUCKETS: plan.all_reduce({{.*}}stream = 1 : i64

// A cut collective is one row of the ledger, with the bytes of the whole.
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --simulate --hardware h100-sxm --overlap on --overlap-chunks 2 --quiet --report %t.cut
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --simulate --hardware h100-sxm --quiet --report %t.whole
// RUN: python3 -c "import json,sys; a,b=[sorted((c['kind'],c['bytes'],c['tensor']) for c in json.load(open(f))['collectives']) for f in sys.argv[1:]]; assert a==b,(a,b)" %t.cut %t.whole

// A schedule that is not faster is not used, and a remark says so.
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-pipeline="overlap=on overlap-chunks=1" --remarks-filter=tpsp-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: no schedule of a step with communication under computation is faster: {{.*}} ms against {{.*}} ms one after another

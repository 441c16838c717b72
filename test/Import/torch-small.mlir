// Small graphs that an importer may read wrongly: masks, types, arguments that
// change numbers, labels that do not count.
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{case} =
// DEFINE: %{import} = python3 %S/Inputs/small-archives.py %{case} %t/%{case}.pt2 && tpsp-import %t/%{case}.pt2 -o %t/%{case}.mlir && tpsp-opt %t/%{case}.mlir -o /dev/null && FileCheck %s --input-file %t/%{case}.mlir --check-prefix
// DEFINE: %{refuse} = python3 %S/Inputs/small-archives.py %{case} %t/%{case}.pt2 && not tpsp-import %t/%{case}.pt2 2>&1 | FileCheck %s --check-prefix

// Masks that say which keys are seen.
// REDEFINE: %{case} = inverted
// RUN: %{import} CAUSAL
// REDEFINE: %{case} = hidden
// RUN: %{import} CAUSAL
// REDEFINE: %{case} = triangle
// RUN: %{import} CAUSAL
// CAUSAL-NOT: param
// CAUSAL: attention %q, %k, %v {causal, feature = "k", key = "t", query = "s",

// Masks of numbers that are added.
// REDEFINE: %{case} = biased
// RUN: %{import} ADDED
// REDEFINE: %{case} = biased-small
// RUN: %{import} ADDED
// REDEFINE: %{case} = ones
// RUN: %{import} ADDED
// REDEFINE: %{case} = ones-small
// RUN: %{import} ADDED
// ADDED: attention %q, %k, %v, %p0 {feature = "k", key = "t", query = "s",

// REDEFINE: %{case} = sum-over-heads
// RUN: %{import} HEADS
// HEADS-NOT: attention %
// HEADS: softmax

// One more column of scores, the same for all rows, is a sink.
// REDEFINE: %{case} = sinks
// RUN: %{import} SINKS
// SINKS: param %sinks "sinks": [h]
// SINKS-NOT: {{concat|reduce|sub}}
// SINKS: attention %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %sinks {feature
// REDEFINE: %{case} = first-column
// RUN: %{import} COLUMN
// REDEFINE: %{case} = two-columns
// RUN: %{import} COLUMN
// COLUMN-NOT: attention %
// COLUMN: concat
// COLUMN: cut
// REDEFINE: %{case} = column-of-rows
// RUN: %{import} OFROWS
// OFROWS-NOT: attention %
// OFROWS: softmax %{{[^,]*}}, %column{{[_0-9]*}} {over

// A mask without the index of keys is not taken for a sink.
// REDEFINE: %{case} = mask-of-heads
// RUN: %{import} OFHEADS
// OFHEADS: %[[MASK:.*]] = broadcast %mask{{[_0-9]*}} -> [h, t, ?]
// OFHEADS: attention %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[MASK]] {feature

// A gain that is the number 1 has no index that an operation for norms needs.
// REDEFINE: %{case} = constant-gain
// RUN: %{import} GAIN
// GAIN-NOT: layer_norm %
// GAIN: rsqrt

// The mean is over the labels that count.
// REDEFINE: %{case} = mean-of-labels
// RUN: %{import} MEAN
// MEAN: %[[LOSSES:.*]] = cross_entropy %x, %y
// MEAN-NEXT: mean %[[LOSSES]], %y -> []
// REDEFINE: %{case} = sum-of-labels
// RUN: %{import} SUM
// SUM: %[[LOSSES:.*]] = cross_entropy %x, %y
// SUM-NEXT: reduce %[[LOSSES]] {kind = "sum"}
// REDEFINE: %{case} = ignored-class
// RUN: %{refuse} IGNORED
// IGNORED: aten.cross_entropy_loss.default ignores label 255; known are labels below 0, and those of its {{[0-9]+}} classes{{$}}

// Ids above 256 are compared in f32, in a program of bf16, too.
// REDEFINE: %{case} = large-ids
// RUN: %{import} IDS
// IDS: iota {index = "v"} -> [v, ?]
// IDS: compare {{.*}} {is = "equal"} -> [b, s, ?]
// IDS-NEXT: convert {{.*}} -> bf16[b, s, ?]

// REDEFINE: %{case} = bits
// RUN: %{import} BITS
// RUN: tpsp-import %t/bits.pt2 --save-weights %t/bits.st -o /dev/null
// RUN: %python -c "import struct; d = open(r'%t/bits.st', 'rb').read(); print(struct.unpack('<8f', d[-32:]))" | FileCheck %s --check-prefix=EVEN
// BITS: mul %x, %p0
// EVEN: (0.0, 0.0, 2.0, 2.0, 4.0, 4.0, 6.0, 6.0)
// REDEFINE: %{case} = means
// RUN: %{import} BITS
// RUN: tpsp-import %t/means.pt2 --save-weights %t/means.st -o /dev/null
// RUN: %python -c "import struct; d = open(r'%t/means.st', 'rb').read(); print(struct.unpack('<4f', d[-16:]))" | FileCheck %s --check-prefix=MEANS
// MEANS: (2.0, 3.0, 2.0, 3.0)
// REDEFINE: %{case} = truth
// RUN: %{import} TRUTH
// TRUTH-COUNT-2: compare {{.*}} {is = "not_equal"}
// TRUTH: mul

// Arguments that nothing here computes with.
// REDEFINE: %{case} = pad-reflect
// RUN: %{refuse} REFLECT
// REFLECT: aten.pad.default pads in mode 'reflect'; known is 'constant'{{$}}
// REDEFINE: %{case} = pool-divisor
// RUN: %{refuse} DIVISOR
// DIVISOR: aten.avg_pool2d.default has divisor_override = 1, which is not supported{{$}}
// REDEFINE: %{case} = scattered-wide
// RUN: %{refuse} WIDE
// WIDE: aten.scatter_reduce.two has indices of [2, 9] and a source of [2, 9] for a tensor of [4, 3]{{$}}
// REDEFINE: %{case} = scattered-few
// RUN: %{refuse} FEW
// FEW: aten.scatter_reduce.two has indices of [2] and a source of [2] for a tensor of [4, 3]{{$}}
// REDEFINE: %{case} = transform-no-dim
// RUN: %{refuse} NO-DIMENSION
// REDEFINE: %{case} = transform-no-size
// RUN: %{refuse} NO-DIMENSION
// NO-DIMENSION: aten.fft_fftn.default transforms no dimension
// REDEFINE: %{case} = softplus-threshold
// RUN: %{refuse} THRESHOLD
// THRESHOLD: aten.softplus.default has threshold = 1, which is not supported{{$}}
// REDEFINE: %{case} = softplus
// RUN: %{import} SOFTPLUS
// SOFTPLUS: softplus %x

// Tensors without elements.
// REDEFINE: %{case} = no-elements
// RUN: %{refuse} NOTHING
// REDEFINE: %{case} = pool-to-nothing
// RUN: %{refuse} NOTHING
// NOTHING: uses a tensor without elements{{$}}

// REDEFINE: %{case} = empty-part
// RUN: %{import} PART
// PART: func @model(
// PART-NEXT: %x: [{{.*}}]) -> [
// PART-NEXT: %[[OUT:.*]] = scale %x {factor = 1.0}
// PART-NEXT: return %[[OUT]]

// Experts that are chosen one after the other, and then sorted together.
// REDEFINE: %{case} = chosen-one-by-one
// RUN: %{import} ONE-BY-ONE
// ONE-BY-ONE-COUNT-2: = router
// ONE-BY-ONE: %[[BOTH:.*]] = stack %{{.*}} -> i32[
// ONE-BY-ONE: one_hot_einsum %{{.*}}, %w, %{{.*}} {indices =

// A parameter that is divided as the batch is has the batch's axis where it is
// broadcast.
// REDEFINE: %{case} = class-token
// RUN: %{import} TOKEN
// RUN: tpsp-import %t/class-token.pt2 --place fsdp --mesh fsdp=2 -o %t/fsdp.mlir
// RUN: tpsp-opt %t/fsdp.mlir --tpsp-explain -o /dev/null
// RUN: FileCheck %s --check-prefix=FSDP --input-file %t/fsdp.mlir
// TOKEN: broadcast %{{.*}} -> [b, {{y[0-9]*}}, d, ?]
// FSDP: param %token "token": [{{.*}}, d@fsdp]
// FSDP: broadcast %{{.*}} -> [b@fsdp, {{y[0-9]*}}, d]

// REDEFINE: %{case} = ids-in-view
// RUN: %{import} VIEW
// VIEW: stop_gradient
// VIEW: select

// REDEFINE: %{case} = deep-constant
// RUN: %{import} DEEP
// DEEP: mul %x, %p0

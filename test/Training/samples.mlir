// Samples of any arguments, by name: images, weights and labels of which some
// do not count.
// REQUIRES: numpy
// RUN: rm -rf %t && split-file %s %t
// RUN: cd %t && python3 make.py

// Two meshes, and a run that is resumed, have one curve.
// DEFINE: %{train} = tpsp-train %t/m.mlir --lr 1e-2 --schedule constant --seed 5 --quiet --data images=%t/images.npy --data %t/labels.safetensors
// RUN: %{train} --steps 12 --out %t/one --mesh dp=1,tp=1
// RUN: %{train} --steps 12 --out %t/six --mesh dp=3,tp=2
// RUN: %{train} --out %t/again --mesh dp=3,tp=2 --steps 7
// RUN: %{train} --steps 12 --resume %t/again --mesh dp=1,tp=1
// RUN: python3 %t/compare.py %t/one %t/six 1e-6
// RUN: python3 %t/compare.py %t/one %t/again 1e-6
// Steps 1 and 2 take other samples than the file's first, in each epoch once.
// RUN: python3 %t/first.py %t/one
// RUN: tpsp-train %t/m.mlir --steps 2 --data images=%t/images.npy --data %t/labels.safetensors --eval-data images=%t/images.npy --eval-data %t/labels.safetensors | FileCheck %s
// CHECK: 20 samples, 6 a step (6 x 1)
// CHECK: samples/s
// CHECK: evaluation: loss

// Images of u8 are numbers from 0 to 255.
// RUN: tpsp-train %t/m.mlir --steps 1 --data images=%t/pixels.npy --data %t/labels.safetensors --out %t/pixels --quiet
// RUN: tpsp-train %t/m.mlir --steps 1 --data images=%t/floats.npy --data %t/labels.safetensors --out %t/floats --quiet
// RUN: python3 %t/compare.py %t/pixels %t/floats 0

// What does not fit, and how it would.
// DEFINE: %{refused} = %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --steps 1 --quiet --data
// RUN: %{refused} images=%t/images.npy 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}tpsp-train: nothing gives input 'labels': write {tpsp.data = "tokens"} on it, or give it with --inputs, or a tensor for each sample with --data{{$}}
// RUN: %{refused} image=%t/images.npy 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: {{^}}tpsp-train: '{{.*}}images.npy' gives 'image', which is no input of the program; its inputs are 'images', 'labels'{{$}}
// RUN: %{refused} images=%t/narrow.npy 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: {{^}}tpsp-train: '{{.*}}narrow.npy' does not fit 'images': it has shape [20, 4], and the argument [b@dp, y, d] takes samples of [2, 5] along a first index{{$}}
// RUN: %{refused} images=%t/images.npy labels=%t/few.npy 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: {{^}}tpsp-train: '{{.*}}few.npy' has 19 samples of 'labels', and '{{.*}}images.npy' has 20 of 'images'; a sample takes one of each{{$}}
// RUN: %{refused} images=%t/images.npy labels=%t/large.npy 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: {{^}}tpsp-train: rank {{[0-9]+}}: '{{.*}}large.npy' at sample {{[0-9]+}} has 8, and 'labels' takes integers from -2147483648 to 7{{$}}
// RUN: %{refused} images=%t/images.npy labels=%t/floats.npy 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: {{^}}tpsp-train: '{{.*}}floats.npy' does not fit 'labels': it is of '<f4', and the argument takes integers{{$}}
// RUN: %{refused} %t/images.npy images=%t/images.npy labels=%t/few.npy 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: %{refused} images=%t/images.npy %t/labels.safetensors %t/labels.safetensors 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: {{^}}tpsp-train: 'labels' is given twice, by '{{.*}}labels.safetensors' and by '{{.*}}labels.safetensors'{{$}}
// RUN: %{refused} images=%t/images.npy %t/labels.safetensors --inputs labels=%t/batch.npy 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: {{^}}tpsp-train: input 'labels' is given by --inputs and by --data; give it once{{$}}
// RUN: %{refused} images=%t/cut.npy 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: {{^}}tpsp-train: cannot read '{{.*}}cut.npy': its header says 200 elements of 4 bytes, and 796 bytes follow{{$}}

//--- m.mlir
tpsp.program <b = 6, y = 2, d = 5, h = 4, v = 8> {
mesh @mesh <dp = 3 : data, tp = 1 : model>
func @m(%images: [b@dp, y, d], %labels: i32[b@dp, y], param %up: [h@tp, d], param %head: [v@tp, h]) -> [] {
  %u = einsum %up, %images -> [b, y, h, ?]
  %a = gelu %u
  %logits = einsum %head, %a -> [b, y, v, ?]
  %each = cross_entropy %logits, %labels {over = "v"}
  %loss = mean %each, %labels -> []
  return %loss
}
}

//--- make.py
import numpy as np
from safetensors.numpy import save_file

random = np.random.default_rng(3)
images = random.standard_normal((20, 2, 5)).astype(np.float32)
labels = random.integers(0, 8, (20, 2))
labels[random.random((20, 2)) < 0.4] = -100
save_file({"labels": labels.astype(np.int32)}, "labels.safetensors")
np.save("images.npy", images)
np.save("narrow.npy", images[:, 0, :4])
np.save("few.npy", labels[:19])
np.save("batch.npy", labels[:6].astype(np.int32))
np.save("large.npy", np.full((20, 2), 8))
pixels = random.integers(0, 256, (20, 2, 5))
np.save("pixels.npy", pixels.astype(np.uint8))
np.save("floats.npy", pixels.astype(np.float32))
open("cut.npy", "wb").write(open("images.npy", "rb").read()[:-4])

//--- compare.py
import json, sys


def losses(folder):
    return [json.loads(line)["loss"] for line in open(folder + "/metrics.jsonl")]


one, other, tolerance = losses(sys.argv[1]), losses(sys.argv[2]), float(sys.argv[3])
assert len(one) == len(other) > 0, (one, other)
assert all(abs(a - b) <= tolerance * a for a, b in zip(one, other)), (one, other)

//--- first.py
import json, sys

# Parameters change little in a step, so equal samples would have nearly equal losses.
one, two = [json.loads(line)["loss"] for line in open(sys.argv[1] + "/metrics.jsonl")][:2]
assert abs(one - two) > 1e-3, (one, two)

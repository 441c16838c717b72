// A vision transformer from a file of images, and a language model whose labels
// come from a file, with -100 where they do not count: the losses of one rank
// are those of other meshes. (The second is trained by sgd. Few labels count, so
// AdamW's first steps divide gradients near 0 by themselves, rounding included.)
// REQUIRES: tpsp-run
// RUN: rm -rf %t && split-file %s %t
// RUN: cd %t && python3 make.py

// DEFINE: %{vit} = tpsp-train %examples/vit-tiny.mlir --data images=%t/images.npy --data labels=%t/labels.npy --steps 10 --log-every 1 --schedule constant --lr 1e-3 --quiet
// RUN: %{vit} --mesh dp=1,tp=1 --out %t/vit1
// RUN: %{vit} --mesh dp=2,tp=2 --out %t/vit4
// RUN: %{vit} --mesh dp=3,tp=1 --optimizer-axes dp --micro-batches 2 --out %t/vit3
// RUN: python3 %S/Inputs/compare-losses.py %t/vit1/metrics.jsonl %t/vit4/metrics.jsonl 1e-6
// RUN: python3 %S/Inputs/compare-losses.py %t/vit1/metrics.jsonl %t/vit3/metrics.jsonl 1e-6

// RUN: sed 's/ {tpsp.data = "next_tokens"}//; s/ {tpsp.data = "tokens"}//; s/mean %%token/mean %%token, %%targets/' %examples/llama-tiny.mlir > %t/lm.mlir
// DEFINE: %{lm} = tpsp-train %t/lm.mlir --extent b=8,s=16 --data tokens=%t/tokens.npy --data targets=%t/targets.npy --steps 8 --log-every 1 --schedule constant --optimizer sgd --lr 0.5 --quiet
// RUN: %{lm} --mesh dp=1,tp=1 --out %t/lm1
// RUN: %{lm} --mesh dp=2,tp=2 --micro-batches 4 --out %t/lm4
// RUN: python3 %S/Inputs/compare-losses.py %t/lm1/metrics.jsonl %t/lm4/metrics.jsonl 1e-6

//--- make.py
import random
import struct


def save(path, shape, kind, numbers):
    """Writes a .npy file; `kind` is |u1 or <i4."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        letter = {"|u1": "B", "<i4": "i"}[kind]
        file.write(struct.pack(f"<{len(numbers)}{letter}", *numbers))


draw = random.Random(11)
pixels = 3 * 32 * 32
# A class is a pattern that noise hides.
patterns = [[draw.randrange(256) for _ in range(pixels)] for _ in range(10)]
labels = [draw.randrange(10) for _ in range(50)]
images = [(each + draw.randrange(256)) // 2 for label in labels for each in patterns[label]]
save("images.npy", (50, 3, 32, 32), "|u1", images)
save("labels.npy", (50,), "<i4", [-100 if draw.random() < 0.2 else label for label in labels])

tokens, targets = [], []
for sample in range(30):
    text = [draw.randrange(256) for _ in range(17)]
    # Answers alone count, and some samples have none.
    first = 16 if sample % 5 == 0 else draw.randrange(17)
    tokens += text[:-1]
    targets += [-100] * first + text[1 + first :]
save("tokens.npy", (30, 16), "<i4", tokens)
save("targets.npy", (30, 16), "<i4", targets)

// The backward pass of a GPT layer with dropout saves, to the byte, as much as
// the formulas of arXiv 2205.05198: in bf16, with masks kept as bytes, at two
// sizes. With masks drawn again, every entry is smaller by its mask terms.

// The example, between blocks sharded along the sequence (sp), or not (tp).
// RUN: cp %examples/gpt-block-dropout.mlir %t.sp.small
// RUN: sed -e 's/s@tp/s/g' %t.sp.small > %t.tp.small
// RUN: cp %t.tp.small %t.whole.small
// s, b, h, a = 128, 2, 256, 8 there; now 64, 3, 512, 4.
// RUN: sed -e 's/b = 2, s = 128, t = s, d = 256, h = 8, k = 32, e = 1024/b = 3, s = 64, t = s, d = 512, h = 4, k = 128, e = 2048/' %t.sp.small > %t.sp.large
// RUN: sed -e 's/b = 2, s = 128, t = s, d = 256, h = 8, k = 32, e = 1024/b = 3, s = 64, t = s, d = 512, h = 4, k = 128, e = 2048/' %t.tp.small > %t.tp.large
// RUN: cp %t.tp.large %t.whole.large

// DEFINE: %{bf16} = --tpsp-set-element-type=dtype=bf16 --tpsp-set-mesh=mesh=tp
// DEFINE: %{formula} = python3 %S/Inputs/saved-bytes.py

// RUN: tpsp-opt %t.whole.small %{bf16}=1 --tpsp-pipeline="grad rematerialize=none keep-masks" | %{formula} whole none kept 128 2 256 8 1
// RUN: tpsp-opt %t.whole.small %{bf16}=1 --tpsp-pipeline="grad rematerialize=none" | %{formula} whole none drawn 128 2 256 8 1
// RUN: tpsp-opt %t.whole.large %{bf16}=1 --tpsp-pipeline="grad rematerialize=none keep-masks" | %{formula} whole none kept 64 3 512 4 1
// RUN: tpsp-opt %t.whole.large %{bf16}=1 --tpsp-pipeline="grad rematerialize=none" | %{formula} whole none drawn 64 3 512 4 1

// RUN: tpsp-opt %t.whole.small %{bf16}=1 --tpsp-pipeline="grad rematerialize=selective keep-masks" | %{formula} whole selective kept 128 2 256 8 1
// RUN: tpsp-opt %t.whole.small %{bf16}=1 --tpsp-pipeline="grad rematerialize=selective" | %{formula} whole selective drawn 128 2 256 8 1
// RUN: tpsp-opt %t.whole.large %{bf16}=1 --tpsp-pipeline="grad rematerialize=selective keep-masks" | %{formula} whole selective kept 64 3 512 4 1
// RUN: tpsp-opt %t.whole.large %{bf16}=1 --tpsp-pipeline="grad rematerialize=selective" | %{formula} whole selective drawn 64 3 512 4 1

// RUN: tpsp-opt %t.whole.small %{bf16}=1 --tpsp-pipeline="grad rematerialize=full keep-masks" | %{formula} whole full kept 128 2 256 8 1
// RUN: tpsp-opt %t.whole.small %{bf16}=1 --tpsp-pipeline="grad rematerialize=full" | %{formula} whole full drawn 128 2 256 8 1
// RUN: tpsp-opt %t.whole.large %{bf16}=1 --tpsp-pipeline="grad rematerialize=full keep-masks" | %{formula} whole full kept 64 3 512 4 1
// RUN: tpsp-opt %t.whole.large %{bf16}=1 --tpsp-pipeline="grad rematerialize=full" | %{formula} whole full drawn 64 3 512 4 1

// RUN: tpsp-opt %t.tp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=none keep-masks" | %{formula} tp none kept 128 2 256 8 4
// RUN: tpsp-opt %t.tp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=none" | %{formula} tp none drawn 128 2 256 8 4
// RUN: tpsp-opt %t.tp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=none keep-masks" | %{formula} tp none kept 64 3 512 4 4
// RUN: tpsp-opt %t.tp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=none" | %{formula} tp none drawn 64 3 512 4 4

// RUN: tpsp-opt %t.tp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=selective keep-masks" | %{formula} tp selective kept 128 2 256 8 4
// RUN: tpsp-opt %t.tp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=selective" | %{formula} tp selective drawn 128 2 256 8 4
// RUN: tpsp-opt %t.tp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=selective keep-masks" | %{formula} tp selective kept 64 3 512 4 4
// RUN: tpsp-opt %t.tp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=selective" | %{formula} tp selective drawn 64 3 512 4 4

// RUN: tpsp-opt %t.tp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=full keep-masks" | %{formula} tp full kept 128 2 256 8 4
// RUN: tpsp-opt %t.tp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=full" | %{formula} tp full drawn 128 2 256 8 4
// RUN: tpsp-opt %t.tp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=full keep-masks" | %{formula} tp full kept 64 3 512 4 4
// RUN: tpsp-opt %t.tp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=full" | %{formula} tp full drawn 64 3 512 4 4

// RUN: tpsp-opt %t.sp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=none keep-masks" | %{formula} sp none kept 128 2 256 8 4
// RUN: tpsp-opt %t.sp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=none" | %{formula} sp none drawn 128 2 256 8 4
// RUN: tpsp-opt %t.sp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=none keep-masks" | %{formula} sp none kept 64 3 512 4 4
// RUN: tpsp-opt %t.sp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=none" | %{formula} sp none drawn 64 3 512 4 4

// RUN: tpsp-opt %t.sp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=selective keep-masks" | %{formula} sp selective kept 128 2 256 8 4
// RUN: tpsp-opt %t.sp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=selective" | %{formula} sp selective drawn 128 2 256 8 4
// RUN: tpsp-opt %t.sp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=selective keep-masks" | %{formula} sp selective kept 64 3 512 4 4
// RUN: tpsp-opt %t.sp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=selective" | %{formula} sp selective drawn 64 3 512 4 4

// RUN: tpsp-opt %t.sp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=full keep-masks" | %{formula} sp full kept 128 2 256 8 4
// RUN: tpsp-opt %t.sp.small %{bf16}=4 --tpsp-pipeline="grad rematerialize=full" | %{formula} sp full drawn 128 2 256 8 4
// RUN: tpsp-opt %t.sp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=full keep-masks" | %{formula} sp full kept 64 3 512 4 4
// RUN: tpsp-opt %t.sp.large %{bf16}=4 --tpsp-pipeline="grad rematerialize=full" | %{formula} sp full drawn 64 3 512 4 4

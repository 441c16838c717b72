// Options of --tpsp-explain.
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-explain="notation=explicit" -o /dev/null | FileCheck %s --check-prefix=EXPLICIT
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-explain="notation=latex" -o /dev/null | FileCheck %s --check-prefix=LATEX
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-explain="extents rule" -o /dev/null | FileCheck %s --check-prefix=TABLES
// RUN: not tpsp-opt %examples/mlp-sp.mlir --tpsp-explain="notation=implicit" -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// An index that an axis divides is a device's and a local one. Two indices of
// an equation on one axis have two letters for devices.
//      EXPLICIT: {{^}}  y_{b t l t'0 m} = w0_{t'0 m d} · x_{b t0 l d}
// EXPLICIT-NEXT: {{^}}    > all_gather x_{b t0 l d} -> _{b t l d}
//      EXPLICIT: {{^}}  v_{b s t0 m} = gelu(y_{b s t0 m})
// EXPLICIT-NEXT: {{^}}  z_{b t0 l d} = w1_{d t'0 m} · v_{b t l t'0 m}
// EXPLICIT-NEXT: {{^}}    > reduce_scatter z_{t'0 b t l d} -> _{b t0 l d}
//      EXPLICIT: {{^}}indices
// EXPLICIT-NEXT: {{^}}  t in range(4): the ranks of tp, mesh axis 0
// EXPLICIT-NEXT: {{^}}  b in range(2){{$}}
//      EXPLICIT: {{^}}  e in range(1024), (t m) with m in range(1024 // 4)
// EXPLICIT-NEXT: {{^}}  s in range(128), (t l) with l in range(128 // 4)

//      LATEX: % implicit
//      LATEX: \begin{align*}
// LATEX-NEXT: y_{b s e_{0}} &= \mathrm{w0}_{e_{0} d} \, x_{b s_{0} d} \\
// LATEX-NEXT: &\qquad x_{b s_{0} d} \xrightarrow{\mathrm{all\_gather}} x_{b s d} \\
//      LATEX: \mathtt{sum}_{0}\, z_{b s d} \xrightarrow{\mathrm{reduce\_scatter}} z_{b s_{0} d} \\
// LATEX-NEXT: \end{align*}
//      LATEX: % explicit
//      LATEX: z_{b t_{0} l d} &= \mathrm{w1}_{d t'_{0} {{[a-z]}}} \, v_{b t l t'_{0} {{[a-z]}}} \\

//      TABLES: {{^}}tensors (extents, one rank's, bytes of it)
//      TABLES: w0[e@tp, d] {{ *}}1024x256xf32 {{ *}}256x256xf32 {{ *}}256.0 KiB
// TABLES-NEXT: x[b, s@tp, d] {{ *}}2x128x256xf32 {{ *}}2x32x256xf32 {{ *}}64.0 KiB
// TABLES-NEXT: x[b, s, d] {{ *}}2x128x256xf32 {{ *}}2x128x256xf32 {{ *}}256.0 KiB
//      TABLES: {{^}}which gradients need collectives
// TABLES-NEXT: y[b, s, e@tp] = w0[e@tp, d] · x[b, s@tp, d]
// TABLES-NEXT: g[w0[e@tp, d]]: rule no, derived yes: all_gather of x over tp
// TABLES-NEXT: they differ: the rule does not see that the other inputs, which the gradient reads, have to move again
// TABLES-NEXT: g[x[b, s@tp, d]]: rule yes, derived yes: reduce_scatter of g[x] over tp
// TABLES-NEXT: v[b, s, e@tp] = gelu(y[b, s, e@tp])
// TABLES-NEXT: g[y[b, s, e@tp]]: rule no, derived no
// TABLES-NEXT: z[b, s@tp, d] = w1[d, e@tp] · v[b, s, e@tp]
// TABLES-NEXT: g[w1[d, e@tp]]: rule yes, derived yes: all_gather of g[z] over tp
// TABLES-NEXT: g[v[b, s, e@tp]]: rule yes, derived yes: all_gather of g[z] over tp

// UNKNOWN: error: option 'notation' of tpsp-print-explanation: no notation is called 'implicit'; there are subscripts, explicit and latex

// An argument keeps its name; its part for a micro-batch gets a number.
// RUN: tpsp-opt %examples/ddp.mlir --tpsp-explain="micro-batches=2 overlap=on" -o /dev/null | FileCheck %s --check-prefix=PARTS
//      PARTS: {{^}}forward, micro-batch 0
// PARTS-NEXT: {{^}}  x#2[b.block@dp, b.part, s, d] = split(x[b@dp, s, d])
// PARTS-NEXT: {{^}}  x#3[b.block@dp, s, d] = take(x#2[b.block@dp, b.part, s, d], at=0, index=b.part)

// Without overlap one micro-batch stands for all.
// RUN: tpsp-opt %examples/ddp.mlir --tpsp-explain="micro-batches=2" -o /dev/null | FileCheck %s --check-prefix=EACH
// EACH: {{^}}forward, each micro-batch
// EACH: {{^}}backward, each micro-batch

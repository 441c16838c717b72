// A small Mamba-2 that reads bytes: 4 layers of width d 128, h 8 heads of p 32
// with n 32 states each, a convolution of k 4 taps, sequences of s 256 in c 8
// chunks of l 32, 8 a step; 0.5 million parameters. Within a chunk it is
// attention with decays (m: l in its second role); chunks hand a state on, by a
// scan. Time and memory are linear in s. Data parallel over dp, the sequence
// over cp, heads over tp.
// (Dao and Gu, Transformers are SSMs, ICML 2024, section 6.)
//
//   tpsp-run examples/mamba2.mlir --grad --verify
//   tpsp-run examples/mamba2.mlir --grad --verify --mesh cp=2,tp=1
//   tpsp-train examples/mamba2.mlir --data README.md --steps 50

tpsp.program <b = 8, s = 256, c = 8, l = 32, m = l, d = 128, h = 8, p = 32, n = 32, g = 2, k = 4, v = 256> {
mesh @mesh <dp = 1 : data, cp = 1 : data, tp = 2 : model>

// Depthwise and causal: y[s] = w[3] x[s] + w[2] x[s - 1] + ...
func private @conv_heads(%x: [b@dp, s@cp, h@tp, p],
    param %w: [k, h@tp, p] {tpsp.mean = 0.0 : f64, tpsp.deviation = 0.5 : f64}, param %bias: [h@tp, p]) -> [b@dp, s@cp, h@tp, p] {
  %w3 = take %w {index = "k", at = 3}
  %w2 = take %w {index = "k", at = 2}
  %w1 = take %w {index = "k", at = 1}
  %w0 = take %w {index = "k", at = 0}
  %x1 = delay %x {index = "s", by = 1}
  %x2 = delay %x {index = "s", by = 2}
  %x3 = delay %x {index = "s", by = 3}
  %y3 = mul %x, %w3
  %y2 = mul %x1, %w2
  %y1 = mul %x2, %w1
  %y0 = mul %x3, %w0
  %y  = add %y0, %y1, %y2, %y3, %bias
  %z  = silu %y
  return %z
}

// The same of the writing (g = 0) and reading (g = 1) directions of states.
func private @conv_states(%x: [b@dp, s@cp, g, n],
    param %w: [k, g, n] {tpsp.mean = 0.0 : f64, tpsp.deviation = 0.5 : f64}, param %bias: [g, n]) -> [b@dp, s@cp, g, n] {
  %w3 = take %w {index = "k", at = 3}
  %w2 = take %w {index = "k", at = 2}
  %w1 = take %w {index = "k", at = 1}
  %w0 = take %w {index = "k", at = 0}
  %x1 = delay %x {index = "s", by = 1}
  %x2 = delay %x {index = "s", by = 2}
  %x3 = delay %x {index = "s", by = 3}
  %y3 = mul %x, %w3
  %y2 = mul %x1, %w2
  %y1 = mul %x2, %w1
  %y0 = mul %x3, %w0
  %y  = add %y0, %y1, %y2, %y3, %bias
  %z  = silu %y
  return %z
}

// y[s] = read[s] state[s] + skip u[s], where
// state[s] = exp(-step[s] exp(log_rate)) state[s - 1] + step[s] u[s] write[s].
func private @ssd(%u: [b@dp, s@cp, h@tp, p], %step: [b@dp, s@cp, h@tp], %write, %read: [b@dp, s@cp, n],
    param %log_rate: [h@tp] {tpsp.mean = 1.0 : f64, tpsp.deviation = 0.5 : f64}, param %skip: [h@tp] {tpsp.mean = 1.0 : f64})
    -> [b@dp, s@cp, h@tp, p] {
  %rate  = exp %log_rate
  %rates = mul %step, %rate
  %logs  = neg %rates
  %us    = mul %u, %step
  %x     = split %us -> [b, c, m, h, p, ?]
  %w     = split %write -> [b, c, m, n, ?]
  %r     = split %read -> [b, c, l, n, ?]
  %log   = split %logs -> [b, c, l, h, ?]
  // Decays from a chunk's beginning to l, from m to l, from m to its end.
  %to    = cumsum %log {index = "l"}
  %from  = rename %to -> [b, c, m, h, ?]
  %all   = einsum %log -> [b, c, h, ?]
  %both  = sub %to, %from -> [b, c, h, l, m, ?]
  %seen  = causal_mask %both {query = "l", key = "m", fill = -1e30}
  %left  = sub %all, %from -> [b, c, m, h, ?]
  %inner = exp %seen
  %last  = exp %left
  %first = exp %to
  %whole = exp %all
  // Within a chunk.
  %scores  = einsum %r, %w -> [b, c, l, m, ?]
  %weights = mul %scores, %inner -> [b, c, h, l, m, ?]
  %near    = einsum %weights, %x -> [b, c, l, h, p, ?]
  // From chunk to chunk.
  %kept   = mul %x, %last
  %made   = einsum %kept, %w -> [b, c, h, p, n, ?]
  %states = scan %made, %whole {index = "c"}
  %before = delay %states {index = "c"}
  %read0  = einsum %before, %r -> [b, c, l, h, p, ?]
  %far    = mul %read0, %first
  %sum    = add %near, %far
  %ys     = merge %sum -> [b, s, h, p, ?]
  %direct = mul %u, %skip
  %y      = add %ys, %direct
  return %y
}

func private @layer(%x: [b@dp, s@cp, d], param %norm: [d], param %w_gate, %w_in: [h@tp, p, d], param %w_states: [g, n, d],
    param %w_step: [h@tp, d], param %step_bias: [h@tp] {tpsp.mean = -3.0 : f64, tpsp.deviation = 1.0 : f64},
    param %out_norm: [h@tp, p], param %w_out: [d, h@tp, p]) -> [b@dp, s@cp, d] {
  %xn    = rms_norm %x, %norm
  %gate0 = einsum %w_gate, %xn -> [b, s, h, p, ?]
  %u0    = einsum %w_in, %xn -> [b, s, h, p, ?]
  %g0    = einsum %w_states, %xn -> [b, s, g, n, ?]
  %step0 = einsum %w_step, %xn -> [b, s, h, ?]
  %u     = call @conv_heads(%u0) as "conv_heads.*"
  %g     = call @conv_states(%g0) as "conv_states.*"
  %write = take %g {index = "g", at = 0}
  %read  = take %g {index = "g", at = 1}
  %step1 = add %step0, %step_bias
  %step  = softplus %step1
  %y     = call @ssd(%u, %step, %write, %read) as "*"
  %gate  = silu %gate0
  %yg    = mul %y, %gate
  %yn    = rms_norm %yg, %out_norm
  %o     = einsum %w_out, %yn -> [b, s, d, ?]
  %z     = add %x, %o
  return %z
}

func @model(%tokens: i32[b@dp, s@cp] {tpsp.data = "tokens"}, %targets: i32[b@dp, s@cp] {tpsp.data = "next_tokens"},
    param %table: [v@tp, d], param %norm: [d], param %head: [v@tp, d]) -> [] {
  %x0 = embedding %tokens, %table {vocabulary = "v"}
  %x  = repeat 4 @layer(%x0) as "layers.#.*"
  %xn = rms_norm %x, %norm
  %logits = einsum %head, %xn -> [b, s, v, ?]
  %token  = cross_entropy %logits, %targets {over = "v"}
  %loss   = mean %token -> []
  return %loss
}
}

/// What the built-in kernels are given; shared by host and device code, hence
/// plain C++ without the standard library.
#ifndef TPSP_RUNTIME_CUDA_DEVICEKERNELTYPES_H
#define TPSP_RUNTIME_CUDA_DEVICEKERNELTYPES_H

namespace tpsp::rt {

/// How many ranks may share a GPU: their addresses are a kernel's parameters,
/// which are 4 KiB at most.
constexpr long long maxSources = 128;

/// target[row, i] = sources[0][row, i] op sources[1][row, i] op ..., from left
/// to right, for `count` elements of `rows` rows; pitches in elements.
struct CombineArguments {
  void *target;
  long long numSources, rows, count, targetPitch, sourcePitch;
  const void *sources[maxSources];
};

/// Copies `blocks` blocks of `rows` runs of `units` units; all strides in
/// units.
struct CopyArguments {
  void *target;
  const void *source;
  long long blocks, rows, units;
  long long targetBlock, targetRow, sourceBlock, sourceRow;
};

/// Rounds f32 sums, dense [blocks, rows, columns], to 16 bits; strides
/// in elements.
struct RoundArguments {
  void *target;
  const float *sums;
  long long blocks, rows, columns, targetBlock, targetRow;
};

/// A matmul's epilogue where cuBLASLt has none. For x = source[block, row,
/// column], in the type of arithmetic, or 0 if there is no source: x +=
/// bias[column]; keep = x; x = gelu(x); x *= gelu'(slope); target = x. `keep`
/// and `slope` are laid out as `target` is; what is null is left out. Strides
/// in elements. `source` may be `target`.
struct EpilogueArguments {
  void *target;
  const void *source, *bias;
  void *keep;
  const void *slope;
  long long gelu;
  long long blocks, rows, columns;
  long long targetBlock, targetRow, sourceBlock, sourceRow;
};

/// A sum over an operand in two passes, result[i] = sum over j of source[i, j].
/// The first makes `parts` sums for each i, of j = part, part + parts, ..., in
/// the type of arithmetic. The second adds these. The order never changes.
/// Strides in elements. Neighbouring threads are at neighbours of the source:
/// along j if `summedStride` is 1, else along i; `partials` lies the same way.
struct OperandSumArguments {
  void *result, *partials;
  const void *source;
  long long kept, summed, keptStride, summedStride, parts;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_DEVICEKERNELTYPES_H

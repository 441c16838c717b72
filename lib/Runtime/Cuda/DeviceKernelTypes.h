/// What the backend's own kernels are given; shared by host and device code,
/// hence plain C++ without the standard library.
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

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_DEVICEKERNELTYPES_H

/// The limits of GPU libraries: which commands they can do. The compiler
/// chooses commands within these limits. For a command beyond them, the CUDA
/// backend uses its own kernels or refuses.
#ifndef TPSP_ABI_LIBRARYLIMITS_H
#define TPSP_ABI_LIBRARYLIMITS_H

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/ScoreOptions.h"

#include <string>

namespace tpsp::rt {

//===----------------------------------------------------------------------===//
// Attention: cuDNN
//===----------------------------------------------------------------------===//

/// cuDNN reads rows by 16 bytes at a time, so tensors must begin at multiples
/// of 16 bytes.
inline constexpr int64_t cudnnAlignment = 16;
/// The features of a head must be a multiple of 8: 16 bytes in 16-bit elements.
inline constexpr int64_t cudnnFeatureUnit = 8;
/// cuDNN supports up to 128 features, forward and backward, on the A100 and the
/// H100. Beyond 128, support depends on the GPU: the compiler does not count on
/// it, and the backend asks cuDNN.
inline constexpr int64_t cudnnCertainFeatures = 128;

/// The element type, extents and options of an attention, as in
/// AttentionCommand.
struct AttentionExtents {
  int64_t dtype, queries, keys, features, valueFeatures;
  bool hasBias = false;
  /// Whether heads have segments or lengths of their own.
  bool differsBetweenHeads = false;
  /// The position of the last rank's first query in a causal mask, counted in
  /// keys. 0: every rank's queries start at key 0.
  int64_t queryStart = 0;
  /// cuDNN has all of them but chunks.
  ScoreOptions scores = {};
};

/// Why cuDNN supports such an attention on no GPU; "" if it may support it.
inline std::string cudnnObstacle(const AttentionExtents &of, bool isGradient) {
  if (of.hasBias)
    return "it has a bias";
  if (of.scores.chunk > 0)
    return "it has chunks";
  if (of.differsBetweenHeads)
    return "its segments or lengths differ between heads";
  if (!halfFloat(of.dtype))
    return std::string("its elements are ") + elementName(of.dtype) +
           ", not f16 or bf16";
  for (int64_t features : {of.features, of.valueFeatures})
    if (features < 1 || features % cudnnFeatureUnit != 0)
      return "a head has " + std::to_string(features) +
             " features, not a multiple of " + std::to_string(cudnnFeatureUnit);
  // cuDNN's mask is aligned so that the last query sees exactly the last key.
  // It has no rows for queries that lie after the last key.
  if (of.queryStart > 0 && of.queryStart + of.queries > of.keys)
    return "its queries are divided, and more than its " +
           std::to_string(of.keys) + " keys";
  if (isGradient && of.queries == 1 && of.keys == 1)
    return "it has no gradients for one query and one key";
  return "";
}

/// Whether heads of keys and groups of queries' heads can be merged into one
/// index of queries' heads, given both extents and strides.
constexpr bool areOneIndex(int64_t heads, int64_t groups, int64_t headStride,
                           int64_t groupStride) {
  return heads == 1 || groups == 1 || headStride == groups * groupStride;
}

//===----------------------------------------------------------------------===//
// Epilogues of matrix products: cuBLASLt
//===----------------------------------------------------------------------===//

/// GELU's matrix is its argument, kept or read. Its rows, leading dimension and
/// batch stride must be multiples of 8 elements (cublasLt.h).
inline constexpr int64_t epilogueMatrixUnit = 8;
/// GELU's matrix must begin at a multiple of 16 bytes: 8 elements of 16 bits.
inline constexpr int64_t epilogueMatrixAlignment = 16;

/// Whether cuBLASLt has epilogues for products of this type.
constexpr bool hasEpilogues(int64_t dtype) {
  return dtype == TPSP_RT_F32 || dtype == TPSP_RT_BF16 || dtype == TPSP_RT_F16;
}

} // namespace tpsp::rt

#endif // TPSP_ABI_LIBRARYLIMITS_H

/// What GPU libraries do of what commands can say. The compiler chooses by it,
/// and the CUDA backend refuses, or takes kernels of its own, by it.
#ifndef TPSP_ABI_LIBRARYLIMITS_H
#define TPSP_ABI_LIBRARYLIMITS_H

#include "tpsp/Abi/ElementType.h"

#include <string>

namespace tpsp::rt {

//===----------------------------------------------------------------------===//
// Attention: cuDNN
//===----------------------------------------------------------------------===//

/// cuDNN reads rows of so many bytes at a time: tensors begin at multiples.
inline constexpr int64_t cudnnAlignment = 16;
/// Features of a head come in multiples, those 16 bytes in 16-bit elements.
inline constexpr int64_t cudnnFeatureUnit = 8;
/// Up to so many features, forward and backward, on the A100 and the H100.
/// Beyond, some GPUs have some forms: the compiler does not count on them, and
/// the backend leaves the answer to cuDNN.
inline constexpr int64_t cudnnCertainFeatures = 128;

/// The element type and extents of an attention, as in AttentionCommand.
struct AttentionExtents {
  int64_t dtype, queries, keys, features, valueFeatures;
  /// What is done to scores beyond a scale and a causal mask: "a window"; ""
  /// for nothing.
  const char *ofScores = "";
  /// At which key a causal mask has the last rank's first query; 0: at the
  /// first on all.
  int64_t queryStart = 0;
};

/// ... of an attention that has these.
constexpr const char *scoreExtra(bool hasWindow, bool hasCap, bool hasBias,
                                 bool hasSegments, bool hasLengths) {
  return hasWindow     ? "a window"
         : hasCap      ? "a soft-cap"
         : hasBias     ? "a bias"
         : hasSegments ? "segments"
         : hasLengths  ? "lengths of keys"
                       : "";
}

/// Why cuDNN has no such attention on any GPU; "" if it may have it.
inline std::string cudnnObstacle(const AttentionExtents &of, bool isGradient) {
  if (*of.ofScores)
    return std::string("it has ") + of.ofScores;
  if (!halfFloat(of.dtype))
    return std::string("its elements are ") + elementName(of.dtype) +
           ", not f16 or bf16";
  for (int64_t features : {of.features, of.valueFeatures})
    if (features < 1 || features % cudnnFeatureUnit != 0)
      return "a head has " + std::to_string(features) +
             " features, not a multiple of " + std::to_string(cudnnFeatureUnit);
  // A mask that ends at the last query and the last key: rows that see all
  // keys are not queries of it.
  if (of.queryStart > 0 && of.queryStart + of.queries > of.keys)
    return "its queries are divided, and more than its " +
           std::to_string(of.keys) + " keys";
  if (isGradient && of.queries == 1 && of.keys == 1)
    return "it has no gradients for one query and one key";
  return "";
}

/// Whether heads of keys and the groups of queries' heads inside them are one
/// index of queries' heads, given both extents and strides.
constexpr bool areOneIndex(int64_t heads, int64_t groups, int64_t headStride,
                           int64_t groupStride) {
  return heads == 1 || groups == 1 || headStride == groups * groupStride;
}

//===----------------------------------------------------------------------===//
// Epilogues of matrix products: cuBLASLt
//===----------------------------------------------------------------------===//

/// GELU's matrix (its argument, kept or read) has rows, a leading dimension and
/// a batch stride that so many elements divide (cublasLt.h) ...
inline constexpr int64_t epilogueMatrixUnit = 8;
/// ... and begins at a multiple of so many bytes: a unit in 16-bit elements.
inline constexpr int64_t epilogueMatrixAlignment = 16;

/// Whether products of this type have epilogues.
constexpr bool hasEpilogues(int64_t dtype) {
  return dtype == TPSP_RT_F32 || dtype == TPSP_RT_BF16 || dtype == TPSP_RT_F16;
}

} // namespace tpsp::rt

#endif // TPSP_ABI_LIBRARYLIMITS_H

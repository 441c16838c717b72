/// Which keys a query sees, read off a constant mask.
#ifndef TPSP_IMPORT_TORCH_MASKS_H
#define TPSP_IMPORT_TORCH_MASKS_H

#include "Constant.h"

#include <optional>

namespace tpsp::import::torch {

/// A query at s sees the keys t with first <= s - t <= last.
struct Band {
  int64_t first = INT64_MIN, last = INT64_MAX;

  /// For that many queries and keys.
  bool isAll(int64_t queries, int64_t keys) const {
    return first <= 1 - keys && last >= queries - 1;
  }
  bool isCausal() const { return first == 0; }
};

/// The band of a mask, whose last two dimensions are queries and keys. Booleans
/// are true where a key is seen. Floating-point numbers are 0 there, and -1e30
/// or less elsewhere. Nothing if the mask has another form or is of integers.
std::optional<Band> bandOf(const Constant &mask, int64_t queries, int64_t keys);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_MASKS_H

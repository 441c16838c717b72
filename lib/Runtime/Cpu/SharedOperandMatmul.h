/// Computes a batch of products that share B as one product with more rows.
///
/// A tile of activations is some rows of every sequence of a batch: few rows
/// for each product, all with the same weights. A library reads and packs the
/// weights for every product, but only once for all rows together. Rows that
/// are not contiguous are copied if that is cheap compared with B.
#ifndef TPSP_RUNTIME_CPU_SHAREDOPERANDMATMUL_H
#define TPSP_RUNTIME_CPU_SHAREDOPERANDMATMUL_H

#include "CpuMatmul.h"

#include <memory>
#include <optional>

namespace tpsp::rt {

struct MergedRows {
  /// The command with all rows and without a batch.
  MatmulCommand command;
  /// Whether A's rows are gathered into a dense copy first, and C's rows are
  /// scattered from a dense copy afterwards. The command's operand is then the
  /// copy.
  bool copiesA = false, copiesC = false;
};

/// nullopt if the products do not share B, or if copying their rows is not
/// worth it.
std::optional<MergedRows> mergeRows(const MatmulCommand &command);

/// Runs `command` through `product`, which was prepared for the merged command
/// and uses no scratch memory.
std::unique_ptr<PreparedMatmul>
runMerged(const MatmulCommand &command, const MergedRows &merged,
          std::unique_ptr<PreparedMatmul> product);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_SHAREDOPERANDMATMUL_H

/// A batch of products that share B as one product of more rows.
///
/// A tile of activations is some rows of every sequence of a batch: few rows
/// for each product, all with the same weights. A library reads and packs the
/// weights for each of them; for all rows together it does so once. Rows that
/// do not lie one behind the other are copied, where that is little beside B.
#ifndef TPSP_RUNTIME_CPU_SHAREDOPERANDMATMUL_H
#define TPSP_RUNTIME_CPU_SHAREDOPERANDMATMUL_H

#include "CpuMatmul.h"

#include <memory>
#include <optional>

namespace tpsp::rt {

struct MergedRows {
  /// With all rows, and no batch.
  MatmulCommand command;
  /// Whether A's rows are copied together first, and C's apart afterwards. The
  /// command's operand is then the dense copy.
  bool copiesA = false, copiesC = false;
};

/// nullopt where products share no B, or copying their rows is not worth it.
std::optional<MergedRows> mergeRows(const MatmulCommand &command);

/// `command` by way of `product`, which was prepared for the merged command and
/// uses no scratch memory.
std::unique_ptr<PreparedMatmul>
runMerged(const MatmulCommand &command, const MergedRows &merged,
          std::unique_ptr<PreparedMatmul> product);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_SHAREDOPERANDMATMUL_H

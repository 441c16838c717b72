#include "LibraryCalls.h"

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace tpsp;

/// What cuDNN lacks, of what the CPU backend has; "" if nothing. Its limits are
/// those of the engines for the A100 and the H100 (lib/Runtime/Cuda).
static std::string gpuObstacle(Operation *op, const AttentionHeads &heads) {
  Type element =
      cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  if (!element.isBF16() && !element.isF16())
    return "cuDNN has attention of 16-bit numbers only";
  if (heads.queries * heads.keys == 1)
    return "cuDNN has no gradients of one query with one key";
  for (int64_t features : {heads.features, heads.valueFeatures})
    if (features % 8 != 0 || features > 128)
      return "cuDNN wants multiples of 8 features a head, at most 128, not " +
             std::to_string(features);
  return "";
}

bool tpsp::isLibraryCall(Operation *op, bool forGpu, StringRef pass) {
  auto attention = dyn_cast<AttentionOpInterface>(op);
  if (!attention)
    return false;
  AttentionMatch match = attention.matchHeads();
  std::string obstacle = match.obstacle;
  if (obstacle.empty() && forGpu)
    obstacle = gpuObstacle(op, match.heads);
  if (obstacle.empty())
    return true;
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("attention").category(pass))
      << remark::reason("not done in one call: {0}", obstacle);
  return false;
}

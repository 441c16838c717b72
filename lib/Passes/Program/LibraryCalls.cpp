#include "LibraryCalls.h"

#include "tpsp/Abi/LibraryLimits.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace tpsp;

/// What cuDNN lacks, of what the CPU backend has; "" if nothing. Of a forward
/// pass it is asked, too, whether there would be gradients.
static std::string gpuObstacle(Operation *op, const AttentionHeads &heads) {
  Type element =
      cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  std::string obstacle =
      rt::cudnnObstacle({plan::runtimeType(element), heads.queries, heads.keys,
                         heads.features, heads.valueFeatures},
                        /*isGradient=*/true);
  int64_t features = std::max(heads.features, heads.valueFeatures);
  if (obstacle.empty() && features > rt::cudnnCertainFeatures)
    obstacle = "a head has " + std::to_string(features) + " features, over " +
               std::to_string(rt::cudnnCertainFeatures);
  return obstacle.empty() ? "" : "cuDNN has no such attention: " + obstacle;
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

#include "tpsp/Passes/Program/LibraryCalls.h"

#include "tpsp/Abi/LibraryLimits.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Program/CallPlace.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tpsp;

/// Without a batch, heads take its place (CudnnAttention.cpp).
static bool differsBetweenHeads(const AttentionHeads &heads) {
  auto ofHeads = [&](const AttentionHeads::Layout &layout) {
    return (layout.head > 0 && heads.batch > 1) || layout.group > 0;
  };
  return ofHeads(heads.querySegments) || ofHeads(heads.keySegments) ||
         ofHeads(heads.lengths);
}

/// The position, under a causal mask, of the last rank's first query.
static int64_t latestStart(AttentionOpInterface op) {
  auto type = typeOf(op->getOperand(0));
  IdxAttr idx = getIdx(type);
  if (!op.masksLaterKeys() || !idx.getLocal())
    return 0;
  unsigned dim = *idx.dimOf(op.getRowIndex());
  Mesh mesh = meshOf(op);
  int64_t ranks = mesh.groupSize(placementOf(type, mesh).dims[dim]);
  return (ranks - 1) * type.getDimSize(dim);
}

/// The reason why cuDNN cannot compute an attention that the CPU backend can;
/// empty if there is none. For a forward pass the answer includes its
/// gradients.
static std::string gpuObstacle(AttentionOpInterface op,
                               const AttentionHeads &heads) {
  Type element = typeOf(op->getOperand(0)).getElementType();
  std::string obstacle = rt::cudnnObstacle(
      {plan::runtimeType(element), heads.queries, heads.keys, heads.features,
       heads.valueFeatures, bool(op.getBias()), differsBetweenHeads(heads),
       latestStart(op), op.getScoreOptions()},
      /*isGradient=*/true);
  int64_t features = std::max(heads.features, heads.valueFeatures);
  if (obstacle.empty() && features > rt::cudnnCertainFeatures)
    obstacle = "a head has " + std::to_string(features) + " features, over " +
               std::to_string(rt::cudnnCertainFeatures);
  return obstacle.empty() ? "" : "cuDNN has no such attention: " + obstacle;
}

/// Why a library does not compute the attention in one call; empty if it does.
static std::string callObstacle(AttentionOpInterface op, bool forGpu) {
  AttentionMatch match = op.matchHeads();
  return match.obstacle.empty() && forGpu ? gpuObstacle(op, match.heads)
                                          : match.obstacle;
}

bool tpsp::isLibraryCall(Operation *op, bool forGpu, StringRef pass) {
  auto attention = dyn_cast<AttentionOpInterface>(op);
  if (!attention)
    return false;
  std::string obstacle = callObstacle(attention, forGpu);
  if (obstacle.empty())
    return true;
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("attention").category(pass))
      << remark::reason("not done in one call: {0}", obstacle);
  return false;
}

/// Bytes of the scores: queries without their features, by keys.
static double scoreBytes(AttentionOp op) {
  auto queries = typeOf(op->getOperand(0));
  int64_t features = extentOf(op->getOperand(0), op.getFeature());
  int64_t keys = extentOf(op->getOperand(1), op.getKey());
  return double(queries.getNumElements() / features) * double(keys) *
         (queries.getElementTypeBitWidth() / 8);
}

SmallVector<KeptScores> tpsp::keptScores(Operation *root, bool forGpu) {
  constexpr double fewBytes = 64 << 20;
  llvm::MapVector<Attribute, KeptScores> found;
  root->walk([&](AttentionOp op) {
    std::string obstacle = callObstacle(op, forGpu);
    if (obstacle.empty())
      return;
    LocationAttr place = callPlaceOf(op.getLoc()).written;
    auto [at, isNew] = found.try_emplace(place);
    if (isNew)
      at->second = {op, 0, scoreBytes(op), std::move(obstacle)};
    ++at->second.count;
  });
  SmallVector<KeptScores> result;
  for (auto &[place, each] : found)
    if (double(each.count) * each.bytes >= fewBytes)
      result.push_back(std::move(each));
  return result;
}

std::string KeptScores::line() const {
  Location place = callPlaceOf(first->getLoc()).written;
  auto line = place->findInstanceOf<FileLineColLoc>();
  return line ? (line.getFilename().strref() + ":" + Twine(line.getLine()) +
                 ": ")
                    .str()
              : "";
}

std::string KeptScores::text() const {
  std::string layers =
      count > 1 ? " in each of " + std::to_string(count) + " layers" : "";
  return "keeps its scores in memory, " + rt::bytesText(bytes) + layers +
         " over all ranks: " + obstacle;
}

AttentionWork tpsp::attentionWork(AttentionOpInterface op,
                                  const AttentionHeads &heads) {
  AttentionWork work;
  static_cast<ScoreOptions &>(work) = op.getScoreOptions();
  work.heads = heads.batch * heads.heads * heads.groups;
  work.queries = heads.queries;
  work.keys = heads.keys;
  work.features = heads.features;
  work.valueFeatures = heads.valueFeatures;
  work.isGradient = op.isGradient();
  work.hidesKeys = !op.getSegments().empty() || op.getLengths();
  return work;
}

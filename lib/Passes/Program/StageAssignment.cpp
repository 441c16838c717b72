#include "tpsp/Passes/Program/StageAssignment.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace tpsp;

SmallVector<Operation *> tpsp::layersOf(func::FuncOp program) {
  SmallVector<Operation *> layers;
  for (Operation &op : program.getBody().front().without_terminator())
    if (isa<func::CallOp>(op))
      layers.push_back(&op);
  return layers;
}

llvm::Expected<SmallVector<int64_t>>
tpsp::readStageLayers(ArrayRef<std::string> texts) {
  SmallVector<int64_t> layers;
  for (StringRef text : texts) {
    int64_t count = 0;
    if (text.getAsInteger(10, count) || count < 1)
      return llvm::createStringError(
          "'" + text +
          "' is no number of layers; give one from 1 for each chunk, as 9,8,8");
    layers.push_back(count);
  }
  return layers;
}

LogicalResult StageAssignment::assign() {
  std::optional<AxisId> axis = stageAxisOf(program);
  if (!axis)
    return emitErrorAt(program)
           << "has no stages: no axis of the mesh has the role 'stage'; write "
              "one, as in <pp = 4 : stage>";
  if (cut.chunksPerStage < 1 || cut.chunksPerStage > 4096)
    return emitErrorAt(program) << "cannot have " << cut.chunksPerStage
                                << " chunks a stage; 1 is a block of layers";
  numChunks = meshOf(program).size(*axis) * cut.chunksPerStage;
  if (failed(countLayers()))
    return failure();
  size_t next = 0;
  for (auto [chunk, count] : llvm::enumerate(counts))
    for (int64_t i = 0; i < count; ++i)
      chunks[layers[next++]] = chunk;
  for (Operation &op : llvm::reverse(body().without_terminator()))
    if (!chunks.contains(&op))
      chunks[&op] = firstUser(&op);
  return success();
}

LogicalResult StageAssignment::countLayers() {
  int64_t all = layers.size();
  if (all < numChunks)
    return emitErrorAt(program)
           << "has " << all << " layers (calls of functions), fewer than the "
           << numChunks << " chunks of " << numChunks / cut.chunksPerStage
           << " stages; "
           << (all == 0 ? "write layers as calls of a function"
                        : "give fewer stages or chunks");
  for (int64_t chunk = 0; chunk < numChunks && cut.layers.empty(); ++chunk)
    counts.push_back(all / numChunks + (chunk < all % numChunks));
  if (cut.layers.empty())
    return success();
  counts = cut.layers;
  int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t(0));
  if (int64_t(counts.size()) == numChunks && sum == all &&
      llvm::all_of(counts, [](int64_t count) { return count > 0; }))
    return success();
  return emitErrorAt(program)
         << "has " << all << " layers for " << numChunks << " chunks; "
         << counts.size() << " counts are given that add up to " << sum
         << ": give each chunk its number, at least 1";
}

int64_t StageAssignment::firstUser(Operation *op) const {
  int64_t first = numChunks - 1;
  for (Operation *user : op->getUsers())
    if (auto known = chunks.find(user); known != chunks.end())
      first = std::min(first, known->second);
  return first;
}

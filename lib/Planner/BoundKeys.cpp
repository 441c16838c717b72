// The keys of the bounds' caches.
#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/Hashing.h"

#include <functional>

using namespace tpsp;
using namespace tpsp::planner;

static size_t hashOf(llvm::ArrayRef<int64_t> words) {
  return llvm::hash_combine_range(words.begin(), words.end());
}

size_t Bounds::HashKey::operator()(const ShapeKey &key) const {
  return llvm::hash_combine(key.first, hashOf(key.second));
}

size_t Bounds::HashKey::operator()(const RateKey &key) const {
  const auto &[kind, group, perNode, nodes, largest] = key;
  return llvm::hash_combine(int(kind), group, perNode, nodes,
                            std::hash<double>()(largest));
}

size_t Bounds::HashKey::operator()(const std::vector<int64_t> &key) const {
  return hashOf(key);
}

std::vector<int64_t> Bounds::keyOf(const SpaceNode &node) {
  std::vector<int64_t> key = {node.remaining};
  for (const auto &[name, size, use] : node.candidate.axes) {
    int64_t flags = 4 * use.ring + 2 * use.storesParameters + use.storesState;
    key.insert(key.end(), {size, int64_t(use.role), flags,
                           use.activations ? int64_t(*use.activations) : -1,
                           use.heads ? int64_t(*use.heads) : -1,
                           int64_t(use.parameters.size())});
    key.insert(key.end(), use.parameters.begin(), use.parameters.end());
  }
  return key;
}

#include "tpsp/Algebra/AttentionHeads.h"

#include "tpsp/Abi/LibraryLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <iterator>
#include <optional>

using namespace tpsp;

namespace {

enum Tensor { Q, K, V, O, Bias, QuerySegments, KeySegments, Lengths };
constexpr Tensor all[] = {Q,           K,      V, O, Bias, QuerySegments,
                          KeySegments, Lengths};
using Strides = std::array<int64_t, std::size(all)>; // 0 where absent

/// Indices that are merged into one.
struct Run {
  int64_t extent = 1;
  Strides strides = {};
};

std::optional<size_t> dimOf(const NamedShape &tensor, llvm::StringRef name) {
  const auto *found = llvm::find(tensor.names, name);
  if (found == tensor.names.end())
    return std::nullopt;
  return size_t(found - tensor.names.begin());
}

/// The stride of an index; 0 if the tensor lacks the index or has only one
/// position along it.
int64_t strideOf(const NamedShape &tensor, llvm::StringRef name) {
  std::optional<size_t> dim = dimOf(tensor, name);
  if (!dim || tensor.shape[*dim] == 1)
    return 0;
  int64_t stride = 1;
  for (int64_t extent : tensor.shape.drop_front(*dim + 1))
    stride *= extent;
  return stride;
}

int64_t extentOf(const NamedShape &tensor, llvm::StringRef name) {
  std::optional<size_t> dim = dimOf(tensor, name);
  return dim ? tensor.shape[*dim] : 1;
}

class HeadMatcher {
public:
  explicit HeadMatcher(const AttentionTensors &t) : t(t) {}

  AttentionMatch match() {
    readRows();
    readScores();
    readOuter();
    if (result.matches())
      assignOuter();
    return std::move(result);
  }

private:
  void fail(std::string obstacle) {
    if (result.obstacle.empty())
      result.obstacle = std::move(obstacle);
  }

  /// v's own feature: its index that is neither the key nor an outer index.
  llvm::StringRef valueFeature() const {
    for (llvm::StringRef name : t.v.names)
      if (name != t.key && (name == t.feature || !dimOf(t.q, name)))
        return name;
    return "";
  }

  const NamedShape &shapeOf(Tensor tensor) const {
    const NamedShape *shapes[] = {&t.q,           &t.k,      &t.v,
                                  &t.o,           &t.bias,   &t.querySegments,
                                  &t.keySegments, &t.lengths};
    return *shapes[tensor];
  }

  void readScores() {
    AttentionHeads &heads = result.heads;
    heads.bias.row = strideOf(t.bias, t.query);
    heads.bias.key = strideOf(t.bias, t.key);
    heads.querySegments.row = strideOf(t.querySegments, t.query);
    heads.keySegments.row = strideOf(t.keySegments, t.key);
  }

  void readRows() {
    AttentionHeads &heads = result.heads;
    llvm::StringRef own = valueFeature();
    heads.queries = extentOf(t.q, t.query);
    heads.keys = extentOf(t.k, t.key);
    heads.features = extentOf(t.q, t.feature);
    heads.valueFeatures = extentOf(t.v, own);
    heads.q.row = strideOf(t.q, t.query);
    heads.k.row = strideOf(t.k, t.key);
    heads.v.row = strideOf(t.v, t.key);
    heads.o.row = strideOf(t.o, t.query);
    const std::pair<const NamedShape *, llvm::StringRef> features[] = {
        {&t.q, t.feature}, {&t.k, t.feature}, {&t.v, own}, {&t.o, own}};
    for (auto [tensor, name] : features)
      if (strideOf(*tensor, name) > 1)
        fail("index '" + name.str() + "' is not innermost in every tensor");
  }

  void readOuter() {
    for (llvm::StringRef name : t.q.names) {
      if (name == t.query || name == t.feature || extentOf(t.q, name) == 1)
        continue;
      bool isShared = dimOf(t.k, name).has_value();
      if (isShared != dimOf(t.v, name).has_value())
        fail("keys and values differ in index '" + name.str() + "'");
      if (!dimOf(t.o, name))
        fail("the result lacks index '" + name.str() + "'");
      if (isShared && !groups.empty())
        fail("index '" + name.str() +
             "' of keys and values lies inside one that they lack");
      add(isShared ? shared : groups, name);
    }
  }

  /// Adds an inner index: it is merged into the last run if the strides
  /// continue, else it begins a run.
  void add(llvm::SmallVectorImpl<Run> &runs, llvm::StringRef name) {
    Run inner{extentOf(t.q, name)};
    for (Tensor tensor : all)
      inner.strides[tensor] = strideOf(shapeOf(tensor), name);
    auto continues = [&](const Run &outer) {
      for (Tensor tensor : all)
        if (outer.strides[tensor] != inner.strides[tensor] * inner.extent)
          return false;
      return true;
    };
    if (runs.empty() || !continues(runs.back())) {
      runs.push_back(inner);
      return;
    }
    inner.extent *= runs.back().extent;
    runs.back() = inner;
  }

  void assignOuter() {
    if (groups.size() > 1)
      return fail("more than one index of queries' heads is not the keys'");
    Run group = groups.empty() ? Run() : groups.front();
    Run head, batch;
    if (!shared.empty() && holds(shared.back(), group))
      head = shared.pop_back_val();
    if (!shared.empty())
      batch = shared.pop_back_val();
    if (!shared.empty())
      return fail(
          "its outer indices are not one of the batch and one of heads");
    AttentionHeads &heads = result.heads;
    heads.batch = batch.extent;
    heads.heads = head.extent;
    heads.groups = group.extent;
    AttentionHeads::Layout *layouts[] = {
        &heads.q,           &heads.k,      &heads.v,
        &heads.o,           &heads.bias,   &heads.querySegments,
        &heads.keySegments, &heads.lengths};
    for (Tensor tensor : all) {
      layouts[tensor]->batch = batch.strides[tensor];
      layouts[tensor]->head = head.strides[tensor];
      layouts[tensor]->group = group.strides[tensor];
    }
  }

  /// Whether heads and the groups inside them form one index of queries' heads.
  static bool holds(const Run &head, const Run &group) {
    return llvm::all_of(std::array{Q, O}, [&](Tensor tensor) {
      return rt::areOneIndex(head.extent, group.extent, head.strides[tensor],
                             group.strides[tensor]);
    });
  }

  const AttentionTensors &t;
  AttentionMatch result;
  /// Outer runs come before inner runs.
  llvm::SmallVector<Run, 2> shared, groups;
};

} // namespace

AttentionMatch tpsp::matchAttentionHeads(const AttentionTensors &tensors) {
  return HeadMatcher(tensors).match();
}

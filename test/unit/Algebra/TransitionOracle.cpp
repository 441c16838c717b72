#include "TransitionOracle.h"

#include "llvm/ADT/Hashing.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace tpsp;
using namespace tpsp::oracle;

namespace {

using Axes = std::vector<unsigned>;

enum Kind { AllReduce, ReduceScatter, AllGather, AllToAll, Permute };
constexpr int slice = -1;

/// Returns every ordered, non-empty selection from `axes`.
std::vector<Axes> arrangements(const Axes &axes) {
  std::vector<Axes> found;
  for (unsigned subset = 1; subset < (1u << axes.size()); ++subset) {
    Axes chosen;
    for (unsigned i = 0; i < axes.size(); ++i)
      if (subset & (1u << i))
        chosen.push_back(axes[i]);
    std::sort(chosen.begin(), chosen.end());
    do
      found.push_back(chosen);
    while (std::next_permutation(chosen.begin(), chosen.end()));
  }
  return found;
}

bool contains(const Axes &axes, unsigned axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

void append(Axes &axes, const Axes &more) {
  axes.insert(axes.end(), more.begin(), more.end());
}

void removeAll(Axes &axes, const Axes &less) {
  axes.erase(
      std::remove_if(axes.begin(), axes.end(),
                     [&](unsigned axis) { return contains(less, axis); }),
      axes.end());
}

/// Visits every split of `axes` into a kept major part and a moved minor part.
void forEachSuffix(
    const Axes &axes,
    const std::function<void(const Axes &, const Axes &)> &visit) {
  for (size_t kept = 0; kept < axes.size(); ++kept)
    visit(Axes(axes.begin(), axes.begin() + kept),
          Axes(axes.begin() + kept, axes.end()));
}

/// Visits `layout` with `run` appended to each dimension in turn.
void forEachAppended(const Layout &layout, const Axes &run,
                     const std::function<void(const Layout &)> &visit) {
  for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
    Layout longer = layout;
    append(longer.dims[dim], run);
    visit(longer);
  }
}

/// Returns the dimension that an axis shards, -1 if it is pending, -2 if
/// neither.
int homeOf(const Layout &layout, unsigned axis) {
  for (size_t dim = 0; dim < layout.dims.size(); ++dim)
    if (contains(layout.dims[dim], axis))
      return int(dim);
  return contains(layout.pending, axis) ? -1 : -2;
}

/// Whether a dimension grows although one of its axes still has to leave.
bool appendsBehindLeaving(const Layout &before, const Layout &after,
                          const Layout &goal) {
  for (size_t dim = 0; dim < before.dims.size(); ++dim)
    if (after.dims[dim].size() > before.dims[dim].size())
      for (unsigned axis : before.dims[dim])
        if (homeOf(goal, axis) != int(dim))
          return true;
  return false;
}

Axes unusedAxes(const Layout &layout, size_t numAxes) {
  Axes unused;
  for (unsigned axis = 0; axis < numAxes; ++axis) {
    bool used = contains(layout.pending, axis);
    for (const Axes &axes : layout.dims)
      used |= contains(axes, axis);
    if (!used)
      unused.push_back(axis);
  }
  return unused;
}

} // namespace

size_t LayoutHash::operator()(const Layout &layout) const {
  llvm::hash_code hash = llvm::hash_combine_range(layout.pending);
  for (const Axes &axes : layout.dims)
    hash =
        llvm::hash_combine(hash, axes.size(), llvm::hash_combine_range(axes));
  return hash;
}

size_t LayoutHash::operator()(const std::pair<Layout, Layout> &pair) const {
  return llvm::hash_combine((*this)(pair.first), (*this)(pair.second));
}

Layout oracle::layoutOf(const Placement &placement) {
  Layout layout;
  for (const AxisList &axes : placement.dims)
    layout.dims.emplace_back(axes.begin(), axes.end());
  layout.pending.assign(placement.pending.begin(), placement.pending.end());
  std::sort(layout.pending.begin(), layout.pending.end());
  return layout;
}

Placement oracle::placementOf(const Layout &layout) {
  Placement placement(layout.dims.size());
  for (size_t dim = 0; dim < layout.dims.size(); ++dim)
    placement.dims[dim].assign(layout.dims[dim].begin(),
                               layout.dims[dim].end());
  placement.pending.assign(layout.pending.begin(), layout.pending.end());
  return placement;
}

std::string oracle::toString(const Layout &layout) {
  std::string text;
  for (const Axes &axes : layout.dims) {
    text += "[";
    for (unsigned axis : axes)
      text += std::to_string(axis);
    text += "]";
  }
  for (unsigned axis : layout.pending)
    text += " |" + std::to_string(axis);
  return text;
}

std::vector<Layout> oracle::allLayouts(unsigned rank, unsigned numAxes,
                                       bool withPending) {
  std::vector<Layout> layouts = {Layout{std::vector<Axes>(rank), {}}};
  for (unsigned axis = 0; axis < numAxes; ++axis) {
    std::vector<Layout> longer;
    for (const Layout &layout : layouts) {
      longer.push_back(layout);
      for (unsigned dim = 0; dim < rank; ++dim)
        for (size_t at = 0; at <= layout.dims[dim].size(); ++at) {
          longer.push_back(layout);
          Axes &axes = longer.back().dims[dim];
          axes.insert(axes.begin() + at, axis);
        }
      if (withPending) {
        longer.push_back(layout);
        longer.back().pending.push_back(axis);
      }
    }
    layouts = std::move(longer);
  }
  return layouts;
}

bool oracle::divides(const Layout &layout, const Shape &shape,
                     const Sizes &sizes) {
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t parts = 1;
    for (unsigned axis : layout.dims[dim])
      parts *= sizes[axis];
    if (shape[dim] % parts != 0)
      return false;
  }
  return true;
}

int64_t oracle::localElements(const Layout &layout, const Shape &shape,
                              const Sizes &sizes) {
  int64_t count = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    count *= shape[dim];
    for (unsigned axis : layout.dims[dim])
      count /= sizes[axis];
  }
  return count;
}

std::vector<TransitionOracle::Edge>
TransitionOracle::edgesFrom(const Layout &from) const {
  std::vector<Edge> found;
  for (const Axes &run : arrangements(from.pending)) {
    Layout reduced = from;
    removeAll(reduced.pending, run);
    found.push_back({reduced, AllReduce, run});
    forEachAppended(reduced, run, [&](const Layout &scattered) {
      found.push_back({scattered, ReduceScatter, run});
    });
  }
  for (const Axes &run : arrangements(unusedAxes(from, sizes.size())))
    forEachAppended(from, run, [&](const Layout &sliced) {
      found.push_back({sliced, slice, run});
    });
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    forEachSuffix(from.dims[dim], [&](const Axes &kept, const Axes &moved) {
      Layout gathered = from;
      gathered.dims[dim] = kept;
      found.push_back({gathered, AllGather, moved});
      forEachAppended(gathered, moved, [&](const Layout &exchanged) {
        if (!(exchanged == from))
          found.push_back({exchanged, AllToAll, moved});
      });
    });
    Layout permuted = from;
    std::sort(permuted.dims[dim].begin(), permuted.dims[dim].end());
    do
      if (!(permuted == from))
        found.push_back({permuted, Permute, from.dims[dim]});
    while (std::next_permutation(permuted.dims[dim].begin(),
                                 permuted.dims[dim].end()));
  }
  return found;
}

/// nccl-tests: S (n-1)/n, with S the larger side; all-reduce twice. A permute
/// sends S.
int64_t TransitionOracle::bytes(const Layout &from, const Edge &edge) const {
  if (edge.kind == slice)
    return 0;
  int64_t n = 1;
  for (unsigned axis : edge.axes)
    n *= sizes[axis];
  int64_t larger = std::max(localElements(from, shape, sizes),
                            localElements(edge.to, shape, sizes));
  if (edge.kind == Permute)
    return n > 1 ? larger * elementBytes : 0;
  int64_t once = larger * elementBytes / n * (n - 1);
  return edge.kind == AllReduce ? 2 * once : once;
}

std::optional<Price> TransitionOracle::price(const Layout &from,
                                             const Layout &to) const {
  auto [entry, isNew] = known.try_emplace({from, to});
  if (!isNew)
    return entry->second;
  std::set<std::pair<Price, Layout>> open = {{Price{}, from}};
  std::set<Layout> done;
  while (!open.empty()) {
    auto [spent, layout] = *open.begin();
    open.erase(open.begin());
    if (layout == to)
      return entry->second = spent;
    if (!done.insert(layout).second)
      continue;
    for (const Edge &edge : edgesFrom(layout)) {
      bool straight =
          std::all_of(edge.axes.begin(), edge.axes.end(), [&](unsigned axis) {
            return homeOf(edge.to, axis) == homeOf(to, axis);
          });
      if (edge.kind != Permute && !straight)
        continue;
      if (appendsBehindLeaving(layout, edge.to, to))
        continue;
      Price next = spent;
      next.moves += edge.kind == slice     ? 0
                    : edge.kind == Permute ? 1
                                           : edge.axes.size();
      next.bytes += bytes(layout, edge);
      open.insert({next, edge.to});
    }
  }
  return std::nullopt;
}

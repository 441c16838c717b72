// Which collectives turn one placement into another (planTransition). Inserted
// ones are all derived here. AxisOperation.cpp estimates kinds for prices.
#include "tpsp/Algebra/Collective.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

namespace {

/// Ring traffic per rank is factor * (n - 1) / n * localBytes. Indexed by
/// CollectiveKind.
constexpr int64_t factors[] = {2, 1, 1, 1, 0, 1, 1};

/// Builds a transition step by step from `now` towards `goal`.
class TransitionBuilder {
public:
  TransitionBuilder(const Placement &from, const Placement &goal)
      : now(from), goal(goal) {}

  Transition build() {
    // Every iteration brings a dimension nearer to its goal. The loop ends
    // because a gather, the last resort, leaves only prefixes of the goal.
    while (now != goal) {
      if (sliceFree() || scatterPending() || permuteOrder() || moveAcross() ||
          reducePending() || permuteLeaving() || gatherUnwanted() ||
          gatherMisplaced())
        continue;
      break;
    }
    return std::move(steps);
  }

private:
  /// Axes of dims[dim] after the prefix that it shares with the goal.
  llvm::ArrayRef<AxisId> extra(unsigned dim) const {
    return llvm::ArrayRef<AxisId>(now.dims[dim]).drop_front(shared(dim));
  }
  bool lacks(unsigned dim, AxisId axis) const {
    return !llvm::is_contained(now.dims[dim], axis);
  }
  /// Whether dims[dim] only needs axes appended.
  bool isInOrder(unsigned dim) const {
    return shared(dim) == now.dims[dim].size();
  }
  /// The next target of dims[dim]: the goal. If a permute has yet to mend the
  /// order, minor axes that dims[dim] lacks are left out. They are added after
  /// the permute, which then moves fewer axes.
  llvm::ArrayRef<AxisId> due(unsigned dim) const {
    llvm::ArrayRef<AxisId> wanted = goal.dims[dim];
    if (isInOrder(dim))
      return wanted;
    while (!wanted.empty() && lacks(dim, wanted.back()))
      wanted = wanted.drop_back();
    return wanted;
  }
  /// Axes to add to dims[dim] next. They may be appended after axes that stay,
  /// in any order: a permute mends it.
  AxisList missing(unsigned dim) const {
    AxisList lacking;
    for (AxisId axis : due(dim))
      if (lacks(dim, axis))
        lacking.push_back(axis);
    return lacking;
  }
  /// Whether an axis has to leave dims[dim] before another may be added.
  bool isBlocked(unsigned dim) const {
    return llvm::any_of(now.dims[dim], [&](AxisId axis) {
      return !llvm::is_contained(goal.dims[dim], axis);
    });
  }
  unsigned shared(unsigned dim) const {
    unsigned n = 0;
    while (n < now.dims[dim].size() && n < goal.dims[dim].size() &&
           now.dims[dim][n] == goal.dims[dim][n])
      ++n;
    return n;
  }
  bool mustReduce(AxisId axis) const {
    return now.isPending(axis) && !goal.isPending(axis);
  }

  void add(CollectiveKind kind, llvm::ArrayRef<AxisId> axes,
           std::optional<unsigned> from, std::optional<unsigned> to) {
    AxisList moved(axes.begin(), axes.end());
    if (from)
      now.dims[*from].pop_back_n(moved.size());
    if (to)
      now.dims[*to].append(moved.begin(), moved.end());
    llvm::erase_if(now.pending, [&](AxisId axis) {
      return llvm::is_contained(moved, axis);
    });
    steps.push_back({kind, moved, from, to, now});
  }

  /// Permutes the axes of one dimension into the wanted order.
  bool permuteOrder() {
    for (unsigned dim = 0; dim < now.dims.size(); ++dim) {
      AxisList wanted(due(dim));
      if (now.dims[dim] == wanted || now.dims[dim].size() != wanted.size() ||
          !llvm::all_of(wanted, [&](AxisId axis) {
            return llvm::is_contained(now.dims[dim], axis);
          }))
        continue;
      now.dims[dim] = wanted;
      steps.push_back({CollectiveKind::Permute, wanted, dim, dim, now});
      return true;
    }
    return false;
  }

  /// Puts axes that stay before axes that leave, so that only the latter are
  /// gathered.
  bool permuteLeaving() {
    for (unsigned dim = 0; dim < now.dims.size(); ++dim) {
      AxisList order;
      auto stays = [&](AxisId axis) {
        return llvm::is_contained(goal.dims[dim], axis);
      };
      for (AxisId axis : goal.dims[dim])
        if (!lacks(dim, axis))
          order.push_back(axis);
      if (order.empty())
        continue;
      llvm::copy_if(now.dims[dim], std::back_inserter(order),
                    [&](AxisId axis) { return !stays(axis); });
      if (llvm::is_sorted(now.dims[dim], [&](AxisId a, AxisId b) {
            return stays(a) && !stays(b);
          }))
        continue;
      now.dims[dim] = order;
      steps.push_back({CollectiveKind::Permute, order, dim, dim, now});
      return true;
    }
    return false;
  }

  /// A possible step for one dimension, and whether other steps wait for it.
  struct Move {
    unsigned dim;
    AxisList axes;
    bool makesWay;
  };
  /// Returns the move whose minor axis comes last, preferring moves that make
  /// way for others; null if there are no moves.
  template <typename IsBefore>
  static const Move *bestOf(llvm::ArrayRef<Move> moves, IsBefore isBefore) {
    if (moves.empty())
      return nullptr;
    return llvm::max_element(moves, [&](const Move &a, const Move &b) {
      return a.makesWay != b.makesWay ? b.makesWay
                                      : isBefore(a.axes.back(), b.axes.back());
    });
  }

  /// Appends the leading run of missing(dim) for which `accept` holds. If a
  /// permute follows, appends all axes for which it holds.
  template <typename Accept>
  bool appendRun(CollectiveKind kind, Accept accept) {
    llvm::SmallVector<Move> moves;
    for (unsigned dim = 0; dim < now.dims.size(); ++dim) {
      AxisList run = missing(dim);
      size_t all = run.size();
      if (isInOrder(dim))
        run.truncate(llvm::find_if_not(run, accept) - run.begin());
      else
        llvm::erase_if(run, [&](AxisId axis) { return !accept(axis); });
      if (!run.empty() && !isBlocked(dim))
        moves.push_back({dim, run, /*makesWay=*/run.size() < all});
    }
    // The innermost axes come first, because their links are fastest. The other
    // axes then move smaller tensors.
    const Move *best = bestOf(moves, [](AxisId a, AxisId b) { return a < b; });
    if (best)
      add(kind, best->axes, std::nullopt, best->dim);
    return best;
  }
  bool scatterPending() {
    return appendRun(CollectiveKind::ReduceScatter,
                     [&](AxisId axis) { return mustReduce(axis); });
  }
  bool sliceFree() {
    return appendRun(CollectiveKind::Slice,
                     [&](AxisId axis) { return !now.uses(axis); });
  }

  /// Moves a suffix of one dimension to another dimension that wants it next.
  bool moveAcross() {
    for (unsigned from = 0; from < now.dims.size(); ++from) {
      for (unsigned to = 0; to < now.dims.size(); ++to) {
        if (from == to || isBlocked(to))
          continue;
        AxisList lacking = missing(to);
        for (size_t n = std::min(extra(from).size(), lacking.size()); n; --n) {
          auto run = llvm::ArrayRef<AxisId>(lacking).take_front(n);
          if (extra(from).take_back(n) != run)
            continue;
          add(CollectiveKind::AllToAll, run, from, to);
          return true;
        }
      }
    }
    return false;
  }

  bool reducePending() {
    AxisList axes;
    // An axis that the goal has on a dimension is scattered later.
    for (AxisId axis : now.pending)
      if (mustReduce(axis) && !goal.dimOf(axis))
        axes.push_back(axis);
    if (axes.empty())
      return false;
    llvm::sort(axes);
    add(CollectiveKind::AllReduce, axes, std::nullopt, std::nullopt);
    return true;
  }

  /// Gathers minor axes that the goal does not have. Prefers a dimension in
  /// which other axes wait for this gather, so that later steps move smaller
  /// tensors. Then prefers the outermost axes, because the last gather moves
  /// most.
  bool gatherUnwanted() {
    llvm::SmallVector<Move> moves;
    for (unsigned dim = 0; dim < now.dims.size(); ++dim) {
      llvm::ArrayRef<AxisId> all = extra(dim);
      size_t count = 0;
      while (count < all.size() && !goal.dimOf(all[all.size() - 1 - count]))
        ++count;
      if (count == 0)
        continue;
      bool makesWay =
          count < all.size() || llvm::any_of(goal.dims[dim], [&](AxisId axis) {
            return lacks(dim, axis);
          });
      moves.push_back({dim, AxisList(all.take_back(count)), makesWay});
    }
    const Move *best = bestOf(moves, [](AxisId a, AxisId b) { return a > b; });
    if (best)
      add(CollectiveKind::AllGather, best->axes, best->dim, std::nullopt);
    return best;
  }

  /// The last resort: gathers all axes of a blocked dimension that are not in
  /// place.
  bool gatherMisplaced() {
    for (unsigned dim = 0; dim < now.dims.size(); ++dim) {
      if (!isBlocked(dim))
        continue;
      AxisList axes(extra(dim));
      add(CollectiveKind::AllGather, axes, dim, std::nullopt);
      return true;
    }
    return false;
  }

  Placement now;
  const Placement &goal;
  Transition steps;
};

} // namespace

llvm::StringRef tpsp::name(CollectiveKind kind) { return nameOf(kind); }

int64_t tpsp::bytesSent(CollectiveKind kind, int64_t localBytes,
                        int64_t group) {
  if (kind == CollectiveKind::Transfer)
    return localBytes;
  // Some ranks may keep their tensors. The others send them whole.
  if (kind == CollectiveKind::Permute)
    return group > 1 ? localBytes : 0;
  // Twice a tensor's bytes fit into 64 bits, but the product with the number of
  // ranks may not.
  __int128 all = __int128(factors[static_cast<size_t>(kind)]) * localBytes;
  return int64_t(all * (group - 1) / group);
}

std::optional<Transition> tpsp::planTransition(const Placement &from,
                                               const Placement &to) {
  for (AxisId axis : to.pending)
    if (!from.isPending(axis) || from.reduction != to.reduction)
      return std::nullopt;
  return TransitionBuilder(from, to).build();
}

/// The axes of one rank among `axes`.
static AxisList unitsOf(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  AxisList units;
  for (AxisId axis : axes)
    if (mesh.size(axis) == 1)
      units.push_back(axis);
  return units;
}

static void dropUnits(AxisList &axes, const Mesh &mesh) {
  llvm::erase_if(axes, [&](AxisId axis) { return mesh.size(axis) == 1; });
}

static Placement withoutUnits(Placement placement, const Mesh &mesh) {
  for (AxisList &axes : placement.dims)
    dropUnits(axes, mesh);
  dropUnits(placement.pending, mesh);
  return placement;
}

/// Whether `steps` equal `needed` if axes of one rank are ignored.
static bool doNoMore(const Transition &steps, const Transition &needed,
                     const Mesh &mesh) {
  size_t next = 0;
  for (const CollectiveStep &step : steps) {
    AxisList axes = step.axes;
    dropUnits(axes, mesh);
    if (axes.empty())
      continue;
    if (next == needed.size() || needed[next].kind != step.kind ||
        needed[next].axes != axes || needed[next].from != step.from ||
        needed[next].to != step.to)
      return false;
    ++next;
  }
  return next == needed.size();
}

/// Gathers the axes of one rank off the dimensions that change, and moves the
/// other axes. Then slices the axes of one rank into their wanted places.
static Transition planAroundUnits(Placement now, const Placement &to,
                                  const Mesh &mesh) {
  Transition steps;
  Placement goal = to;
  for (unsigned dim = 0; dim < to.dims.size(); ++dim) {
    if (now.dims[dim] == to.dims[dim])
      continue;
    AxisList units = unitsOf(now.dims[dim], mesh);
    dropUnits(now.dims[dim], mesh);
    dropUnits(goal.dims[dim], mesh);
    if (!units.empty())
      steps.push_back(
          {CollectiveKind::AllGather, units, dim, std::nullopt, now});
  }
  AxisList summed = unitsOf(now.pending, mesh);
  llvm::erase_if(summed, [&](AxisId axis) { return to.isPending(axis); });
  llvm::sort(summed);
  if (!summed.empty()) {
    llvm::erase_if(now.pending, [&](AxisId axis) {
      return llvm::is_contained(summed, axis);
    });
    steps.push_back(
        {CollectiveKind::AllReduce, summed, std::nullopt, std::nullopt, now});
  }
  llvm::append_range(steps, TransitionBuilder(now, goal).build());
  for (unsigned dim = 0; dim < to.dims.size(); ++dim) {
    if (goal.dims[dim] == to.dims[dim])
      continue;
    goal.dims[dim] = to.dims[dim];
    steps.push_back({CollectiveKind::Slice, unitsOf(to.dims[dim], mesh),
                     std::nullopt, dim, goal});
  }
  return steps;
}

std::optional<Transition> tpsp::planTransition(const Placement &from,
                                               const Placement &to,
                                               const Mesh &mesh) {
  std::optional<Transition> steps = planTransition(from, to);
  if (!steps)
    return std::nullopt;
  Placement source = withoutUnits(from, mesh), goal = withoutUnits(to, mesh);
  if (source == from && goal == to)
    return steps;
  Transition needed = TransitionBuilder(source, goal).build();
  return doNoMore(*steps, needed, mesh) ? steps
                                        : planAroundUnits(from, to, mesh);
}

/// Whether one placement has the axes of the other, and further axes only after
/// those that cut the tensor.
static bool areNested(llvm::ArrayRef<int64_t> shape, const Placement &a,
                      const Placement &b, const Mesh &mesh) {
  std::optional<FlatCut> cut = flatCut(shape, a, mesh);
  std::optional<FlatCut> other = flatCut(shape, b, mesh);
  if (!cut || !other || cut->dim != other->dim)
    return false;
  for (unsigned dim = 0; dim < a.dims.size(); ++dim) {
    const AxisList &less = a.dims[dim], &more = b.dims[dim];
    size_t shared = dim == cut->dim ? std::min(less.size(), more.size())
                                    : std::max(less.size(), more.size());
    if (llvm::ArrayRef<AxisId>(less).take_front(shared) !=
        llvm::ArrayRef<AxisId>(more).take_front(shared))
      return false;
  }
  return true;
}

std::optional<Transition> tpsp::planTransition(const Placement &from,
                                               const Placement &to,
                                               llvm::ArrayRef<int64_t> shape,
                                               const Mesh &mesh) {
  std::optional<FlatCut> before = flatCut(shape, from, mesh);
  std::optional<FlatCut> after = flatCut(shape, to, mesh);
  if ((!before && !after) || areNested(shape, from, to, mesh))
    return planTransition(from, to, mesh);
  Placement whole = withoutCut(shape, from, mesh);
  Placement last = withoutCut(shape, to, mesh);
  // A sum over all axes of the cut waits, and is scattered.
  bool waits = after && llvm::all_of(after->axes, [&](AxisId axis) {
                 return from.isPending(axis);
               });
  if (waits) {
    last.pending.append(after->axes.begin(), after->axes.end());
    last.reduction = from.reduction;
  }
  const Placement *way[] = {&from, &whole, &last, &to};
  Transition steps;
  for (size_t i = 1; i < std::size(way); ++i) {
    std::optional<Transition> more = planTransition(*way[i - 1], *way[i], mesh);
    if (!more)
      return std::nullopt;
    llvm::append_range(steps, *more);
  }
  return steps;
}

std::optional<CollectiveStep> tpsp::stepOfKind(CollectiveKind kind,
                                               const Placement &from,
                                               const Placement &to,
                                               const Mesh &mesh) {
  for (const auto &steps :
       {planTransition(from, to), planTransition(from, to, mesh)})
    if (steps && steps->size() == 1 && steps->front().kind == kind)
      return steps->front();
  return std::nullopt;
}

std::optional<CollectiveStep> tpsp::shiftStep(const Placement &placement,
                                              const AxisList &axes) {
  for (auto [dim, divided] : llvm::enumerate(placement.dims))
    if (divided == axes)
      return CollectiveStep{CollectiveKind::Permute, axes, unsigned(dim),
                            unsigned(dim), placement};
  return std::nullopt;
}

TransitionCost tpsp::cost(const Transition &transition, const Placement &from,
                          llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                          const Mesh &mesh) {
  TransitionCost total;
  const Placement *before = &from;
  for (const CollectiveStep &step : transition) {
    int64_t larger =
        std::max(llvm::product_of(localShape(shape, *before, mesh)),
                 llvm::product_of(localShape(shape, step.after, mesh)));
    total.bytes +=
        bytesSent(step.kind, larger * elementBytes, mesh.groupSize(step.axes));
    if (step.kind != CollectiveKind::Slice) {
      unsigned units = unitsOf(step.axes, mesh).size();
      unsigned others = step.axes.size() - units;
      total.trivial += units;
      total.collectives +=
          step.kind == CollectiveKind::Permute ? others > 1 : others;
    }
    before = &step.after;
  }
  return total;
}

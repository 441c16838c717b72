#include "RankSimulation.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

using namespace tpsp;
using namespace tpsp::oracle;

static int64_t elements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

static size_t offset(const Shape &shape, const std::vector<int64_t> &position) {
  size_t index = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    index = index * shape[dim] + position[dim];
  return index;
}

Dense::Dense(Shape shapeOf) : shape(std::move(shapeOf)) {
  values.assign(elements(shape), 0);
}
int64_t &Dense::at(const std::vector<int64_t> &position) {
  return values[offset(shape, position)];
}
int64_t Dense::at(const std::vector<int64_t> &position) const {
  return values[offset(shape, position)];
}

Dense oracle::add(const Dense &a, const Dense &b) {
  Dense sum = a;
  for (size_t i = 0; i < sum.values.size(); ++i)
    sum.values[i] += b.values[i];
  return sum;
}

Dense oracle::cut(const Dense &whole, unsigned dim, int64_t begin,
                  int64_t extent) {
  Shape shape = whole.shape;
  shape[dim] = extent;
  Dense part(shape);
  forEachPosition(shape, [&](std::vector<int64_t> position) {
    int64_t &value = part.at(position);
    position[dim] += begin;
    value = whole.at(position);
  });
  return part;
}

Dense oracle::concatenate(const std::vector<Dense> &parts, unsigned dim) {
  Shape shape = parts.front().shape;
  int64_t extent = shape[dim];
  shape[dim] *= parts.size();
  Dense whole(shape);
  forEachPosition(shape, [&](std::vector<int64_t> position) {
    int64_t &value = whole.at(position);
    size_t part = position[dim] / extent;
    position[dim] %= extent;
    value = parts[part].at(position);
  });
  return whole;
}

int64_t Ranks::count() const { return elements(sizes); }

std::vector<int64_t> Ranks::coordinates(int64_t rank) const {
  std::vector<int64_t> coordinates(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0; rank /= sizes[axis])
    coordinates[axis] = rank % sizes[axis];
  return coordinates;
}

int64_t Ranks::positionIn(int64_t rank, const AxisList &axes) const {
  std::vector<int64_t> mine = coordinates(rank);
  int64_t position = 0;
  for (AxisId axis : axes)
    position = position * sizes[axis] + mine[axis];
  return position;
}

std::vector<int64_t> Ranks::group(int64_t rank, const AxisList &axes) const {
  std::vector<int64_t> mine = coordinates(rank);
  std::vector<int64_t> members(groupSize(axes));
  for (int64_t other = 0; other < count(); ++other) {
    std::vector<int64_t> theirs = coordinates(other);
    bool together = true;
    for (AxisId axis = 0; axis < sizes.size(); ++axis)
      together &= llvm::is_contained(axes, axis) || mine[axis] == theirs[axis];
    if (together)
      members[positionIn(other, axes)] = other;
  }
  return members;
}

int64_t Ranks::groupSize(const AxisList &axes) const {
  int64_t size = 1;
  for (AxisId axis : axes)
    size *= sizes[axis];
  return size;
}

Dense Ranks::block(const Dense &whole, const Layout &layout,
                   int64_t rank) const {
  Dense part = whole;
  for (unsigned dim = 0; dim < layout.dims.size(); ++dim)
    for (unsigned axis : layout.dims[dim]) {
      int64_t extent = part.shape[dim] / sizes[axis];
      part = cut(part, dim, coordinates(rank)[axis] * extent, extent);
    }
  return part;
}

std::vector<Dense> oracle::apply(const CollectiveStep &step,
                                 const Placement &before,
                                 const std::vector<Dense> &held,
                                 const Ranks &ranks) {
  int64_t n = ranks.groupSize(step.axes);
  /// The part of `whole` at `position` of n along `dim`.
  auto nth = [&](const Dense &whole, unsigned dim, int64_t position) {
    int64_t extent = whole.shape[dim] / n;
    return cut(whole, dim, position * extent, extent);
  };
  std::vector<Dense> next;
  for (int64_t rank = 0; rank < ranks.count(); ++rank) {
    std::vector<int64_t> group = ranks.group(rank, step.axes);
    int64_t mine = ranks.positionIn(rank, step.axes);
    auto sum = [&] {
      Dense total = held[group.front()];
      for (size_t i = 1; i < group.size(); ++i)
        total = add(total, held[group[i]]);
      return total;
    };
    std::vector<Dense> parts;
    switch (step.kind) {
    case CollectiveKind::AllReduce:
      next.push_back(sum());
      break;
    case CollectiveKind::ReduceScatter:
      next.push_back(nth(sum(), *step.to, mine));
      break;
    case CollectiveKind::AllGather:
      for (int64_t peer : group)
        parts.push_back(held[peer]);
      next.push_back(concatenate(parts, *step.from));
      break;
    case CollectiveKind::AllToAll:
      for (int64_t peer : group)
        parts.push_back(nth(held[peer], *step.to, mine));
      next.push_back(concatenate(parts, *step.from));
      break;
    case CollectiveKind::Slice:
      next.push_back(nth(held[rank], *step.to, mine));
      break;
    case CollectiveKind::Transfer: // no transition has one
    case CollectiveKind::Permute:
      // The rank's block in the new order is held by the rank at that position
      // of the group in the old order.
      next.push_back(held[ranks.group(rank, before.dims[*step.from])[mine]]);
      break;
    }
  }
  return next;
}

Summands::Summands(const Shape &shape, const Layout &layout, const Ranks &ranks,
                   unsigned seed)
    : layout(layout), ranks(ranks) {
  std::mt19937 random(seed);
  size_t count = 1;
  for (unsigned axis : layout.pending)
    count *= ranks.sizes[axis];
  for (size_t i = 0; i < count; ++i) {
    summands.emplace_back(shape);
    for (int64_t &value : summands.back().values)
      value = int64_t(random() % 2000001) - 1000000;
  }
}

size_t Summands::numberOf(const std::vector<int64_t> &coordinates) const {
  size_t number = 0;
  for (unsigned axis : layout.pending)
    number = number * ranks.sizes[axis] + coordinates[axis];
  return number;
}

Dense Summands::held(int64_t rank) const {
  return ranks.block(summands[numberOf(ranks.coordinates(rank))], layout, rank);
}

Dense Summands::expected(const Layout &target, int64_t rank) const {
  std::vector<int64_t> mine = ranks.coordinates(rank);
  Dense total(summands.front().shape);
  std::vector<bool> counted(summands.size(), false);
  for (int64_t other = 0; other < ranks.count(); ++other) {
    std::vector<int64_t> theirs = ranks.coordinates(other);
    bool apart = llvm::any_of(target.pending, [&](unsigned axis) {
      return mine[axis] != theirs[axis];
    });
    size_t number = numberOf(theirs);
    if (apart || counted[number])
      continue;
    counted[number] = true;
    total = add(total, summands[number]);
  }
  return ranks.block(total, target, rank);
}

// The states of one axis and the costs of a search for placements.
#include "tpsp/Algebra/PlacementSearch.h"

#include <tuple>

using namespace tpsp;

AxisState AxisState::of(const Placement &placement, AxisId axis) {
  if (placement.isPending(axis))
    return pending(placement.reduction);
  std::optional<unsigned> dim = placement.dimOf(axis);
  return dim ? on(*dim) : whole();
}

static auto inOrder(const SearchCost &cost) {
  return std::tie(cost.idle, cost.againstRole, cost.collectives, cost.small,
                  cost.moved, cost.work, cost.earlySums, cost.bytes);
}

bool SearchCost::operator<(const SearchCost &other) const {
  return inOrder(*this) < inOrder(other);
}

bool SearchCost::operator==(const SearchCost &other) const {
  return inOrder(*this) == inOrder(other);
}

SearchCost &SearchCost::operator+=(const SearchCost &other) {
  idle += other.idle;
  againstRole += other.againstRole;
  collectives += other.collectives;
  small += other.small;
  moved += other.moved;
  work += other.work;
  earlySums += other.earlySums;
  bytes += other.bytes;
  return *this;
}

SearchCost &SearchCost::operator-=(const SearchCost &other) {
  SearchCost negative = other;
  negative *= -1;
  negative.idle = -other.idle;
  return *this += negative;
}

SearchCost &SearchCost::operator*=(int64_t times) {
  againstRole *= int(times);
  collectives *= int(times);
  small *= int(times);
  moved *= times;
  work *= times;
  earlySums *= int(times);
  bytes *= times;
  return *this;
}

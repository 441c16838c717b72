#include "tpsp/Planner/Prospects.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

using namespace tpsp;
using namespace tpsp::planner;

/// The number of nodes that the beam search follows, per depth and per number
/// of remaining devices. Nodes with different numbers cannot be compared:
/// remaining devices seem to divide all work and to communicate nothing.
static constexpr size_t beam = 48;
/// The most leaves that are kept.
static constexpr size_t mostLeaves = 4096;
/// The factor of a plan that the compiler refuses or that is too large. No
/// step's factor is larger.
static constexpr double uselessFactor = 20;

static void keepMostPromising(std::vector<Prospect> &nodes, size_t most) {
  llvm::stable_sort(nodes, [](const Prospect &a, const Prospect &b) {
    return a.bound.promise() < b.bound.promise();
  });
  nodes.resize(std::min(nodes.size(), most));
}

Prospects::Prospects(const Space &space, const Bounds &bounds,
                     int64_t memoryLimit) {
  std::vector<Prospect> frontier = {{space.root(), Bound()}};
  int64_t symmetric = 0;
  while (!frontier.empty()) {
    std::map<int64_t, std::vector<Prospect>> byDevicesLeft;
    for (const Prospect &parent : frontier)
      for (SpaceNode &child : space.children(parent.leaf, symmetric)) {
        Bound bound = bounds.of(child);
        if (bound.isPossible && bound.bytes <= memoryLimit)
          (space.isDone(child) ? leaves : byDevicesLeft[child.remaining])
              .push_back({std::move(child), bound});
      }
    frontier.clear();
    for (auto &[remaining, nodes] : byDevicesLeft) {
      keepMostPromising(nodes, beam);
      llvm::append_range(frontier, nodes);
    }
  }
  llvm::erase_if(leaves, [&](Prospect &each) {
    return !space.satisfiesPins(each.leaf.candidate);
  });
  keepMostPromising(leaves, mostLeaves);
  for (Prospect &each : leaves)
    each.traits = traitsOf(each.leaf.candidate);
}

size_t Prospects::numberOf(const AxisUse &trait) {
  auto found = llvm::find(traits, trait);
  size_t number = size_t(found - traits.begin());
  if (found == traits.end()) {
    traits.push_back(trait);
    logFactors.push_back(0);
  }
  return number;
}

/// The traits of a candidate: per axis, the activations that it divides, the
/// parameters that it divides, and what it stores.
std::vector<size_t> Prospects::traitsOf(const Candidate &candidate) {
  std::vector<size_t> numbers;
  for (const CandidateAxis &axis : candidate.axes) {
    AxisUse activations, parameters, stored;
    activations.role = parameters.role = stored.role = axis.use.role;
    activations.activations = axis.use.activations;
    activations.heads = axis.use.heads;
    activations.ring = axis.use.ring;
    parameters.parameters = axis.use.parameters;
    stored.storesParameters = axis.use.storesParameters;
    stored.storesState = axis.use.storesState;
    for (const AxisUse &trait : {activations, parameters, stored})
      if (size_t number = numberOf(trait); !llvm::is_contained(numbers, number))
        numbers.push_back(number);
  }
  return numbers;
}

double Prospects::expected(const Prospect &prospect) const {
  double logFactor = 0;
  for (size_t trait : prospect.traits)
    logFactor += logFactors[trait];
  return std::exp(logFactor) * prospect.bound.promise();
}

/// The share of a prospect's traits that `other` has.
static double likeness(const Prospect &prospect, const Prospect &other) {
  double shared = 0;
  for (size_t trait : prospect.traits)
    shared += llvm::is_contained(other.traits, trait);
  return shared / double(prospect.traits.size());
}

std::vector<Prospect> Prospects::take(size_t most, double limit) {
  // A prospect that resembles a taken one is put off, as if its step took up to
  // this factor longer.
  constexpr double putOff = 3;
  std::vector<double> seconds, likest(leaves.size(), 0);
  for (const Prospect &each : leaves)
    seconds.push_back(expected(each));
  std::vector<Prospect> taken;
  std::vector<size_t> positions;
  while (taken.size() < most) {
    std::optional<size_t> best;
    auto rank = [&](size_t i) { return seconds[i] * (1 + putOff * likest[i]); };
    for (size_t i = 0; i < leaves.size(); ++i)
      if (likest[i] < 1 && (limit == 0 || seconds[i] < limit) &&
          (!best || rank(i) < rank(*best)))
        best = i;
    if (!best)
      break;
    taken.push_back(leaves[*best]);
    positions.push_back(*best);
    for (size_t i = 0; i < leaves.size(); ++i)
      likest[i] = std::max(likest[i], likeness(leaves[i], taken.back()));
  }
  llvm::sort(positions, std::greater<>());
  for (size_t i : positions)
    leaves.erase(leaves.begin() + ptrdiff_t(i));
  return taken;
}

std::vector<Prospect> Prospects::takeFirst(size_t most) {
  auto end = leaves.begin() + ptrdiff_t(std::min(most, leaves.size()));
  std::vector<Prospect> taken(std::make_move_iterator(leaves.begin()),
                              std::make_move_iterator(end));
  leaves.erase(leaves.begin(), end);
  return taken;
}

void Prospects::learn(const Candidate &candidate, const Bound &bound,
                      double seconds) {
  double factor = uselessFactor;
  if (seconds > 0)
    factor = std::clamp(seconds / bound.promise(), 1.0, uselessFactor);
  experience.push_back({traitsOf(candidate), std::log(factor)});
  fit();
}

/// Fits the factors by coordinate descent, in few rounds: exact numbers do not
/// matter.
void Prospects::fit() {
  constexpr double ridge = 0.5;
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round)
    for (size_t trait = 0; trait < traits.size(); ++trait) {
      double rest = 0, count = 0;
      for (const Experience &each : experience) {
        if (!llvm::is_contained(each.traits, trait))
          continue;
        rest += each.logFactor + logFactors[trait];
        for (size_t other : each.traits)
          rest -= logFactors[other];
        ++count;
      }
      logFactors[trait] = std::max(rest / (count + ridge), 0.0);
    }
}

#include "JointOracle.h"
#include "LayoutStates.h"

#include <numeric>

using namespace tpsp;
using namespace tpsp::oracle;

using Value = PlacementProblem::Value;
using Operation = PlacementProblem::Operation;

JointOracle::JointOracle(const PlacementProblem &problem) : problem(problem) {
  for (unsigned axis = 0; axis < problem.mesh.numAxes(); ++axis)
    sizes.push_back(problem.mesh.size(axis));
  isMade.assign(problem.values.size(), false);
  for (const Value &each : problem.values) {
    movements.emplace_back(Shape(each.shape.begin(), each.shape.end()),
                           each.elementBytes, sizes);
    wishes.emplace_back();
    if (!each.wanted)
      continue;
    wishes.back() = Version{layoutOf(*each.wanted),
                            !each.wanted->pending.empty() &&
                                each.wanted->reduction == Reduction::Max};
    for (unsigned axis = 0; axis < sizes.size(); ++axis)
      if (isUnit(axis))
        dropAxis(wishes.back()->layout, axis);
  }
  for (size_t at = 0; at < problem.operations.size(); ++at) {
    const Operation &operation = problem.operations[at];
    for (unsigned number : operation.operands)
      lastUses[slotOf(number, operation.part)] = at;
    for (unsigned number : operation.results)
      isMade[number] = true;
  }
  spreadAxes();
}

JointOracle::Slot JointOracle::slotOf(unsigned number, unsigned part) const {
  return {number, isMade[number] ? 0 : part};
}

/// Finds the indices that each axis may drive: some tensor has the axis on it,
/// is wanted with it, or could get it from another operation.
void JointOracle::spreadAxes() {
  std::vector<std::vector<std::set<int>>> marks(
      problem.values.size(), std::vector<std::set<int>>(sizes.size()));
  for (size_t number = 0; number < marks.size(); ++number)
    for (unsigned axis = 0; wishes[number] && axis < sizes.size(); ++axis)
      if (int state = stateOf(wanted(number).layout, axis); state >= 0)
        marks[number][axis].insert(state);
  open.assign(problem.operations.size(),
              std::vector<std::set<unsigned>>(sizes.size()));
  auto visit = [&](size_t at, unsigned axis, unsigned index) {
    const Operation &operation = problem.operations[at];
    bool isThere = false, fits = true;
    forEachTensor(operation, [&](const auto &tensor, unsigned number) {
      int dim = dimOf(tensor, int(index));
      isThere |= dim >= 0 && marks[number][axis].count(dim);
      fits &= dim < 0 || tensor.shape[dim] % sizes[axis] == 0;
    });
    if (operation.structure.indices[index].whole || !isThere || !fits ||
        !open[at][axis].insert(index).second)
      return false;
    forEachTensor(operation, [&](const auto &tensor, unsigned number) {
      int dim = dimOf(tensor, int(index));
      if (dim >= 0 && (!wishes[number] || mayDepart(number, axis)))
        marks[number][axis].insert(dim);
    });
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t at = 0; at < problem.operations.size(); ++at)
      for (unsigned axis = 0; axis < sizes.size(); ++axis)
        for (unsigned index = 0;
             !isUnit(axis) &&
             index < problem.operations[at].structure.indices.size();
             ++index)
          changed |= visit(at, axis, index);
  }
}

std::vector<JointOracle::Drives> JointOracle::drivesOf(size_t at) const {
  const IndexStructure &structure = problem.operations[at].structure;
  std::vector<Drives> all = {{}};
  for (unsigned axis = 0; axis < sizes.size(); ++axis) {
    Drives options = {nothing};
    int count = int(structure.operands.size());
    if (!isUnit(axis) && count > 0) {
      if (structure.linearity == Linearity::Joint)
        options.push_back(sums);
      for (int i = 0; structure.linearity == Linearity::Multi && i < count; ++i)
        options.push_back(sumOf - i);
      if (structure.selects)
        options.push_back(maximum);
    }
    for (unsigned index : open[at][axis])
      options.push_back(int(index));
    std::vector<Drives> longer;
    for (const Drives &drives : all)
      for (int drive : options) {
        longer.push_back(drives);
        longer.back().push_back(drive);
      }
    all = std::move(longer);
  }
  return all;
}

std::vector<JointOracle::Form> JointOracle::formsOf(size_t at) const {
  std::vector<Form> forms;
  for (const Drives &drives : drivesOf(at)) {
    std::vector<unsigned> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      if (auto form = formOf(at, drives, order))
        forms.push_back(std::move(*form));
    } while (sharesAnIndex(drives) &&
             std::next_permutation(order.begin(), order.end()));
  }
  return forms;
}

std::optional<JointOracle::Form>
JointOracle::formOf(size_t at, const Drives &drives,
                    const std::vector<unsigned> &order) const {
  const IndexStructure &structure = problem.operations[at].structure;
  Form form;
  form.drives = drives;
  for (const IndexStructure::Index &index : structure.indices)
    form.work *= double(index.extent);
  auto layout = [&](const IndexStructure::Tensor &tensor) {
    Version version;
    version.layout.dims.resize(tensor.indices.size());
    for (unsigned axis : order)
      if (int dim = drives[axis] < 0 ? -1 : dimOf(tensor, drives[axis]);
          dim >= 0)
        version.layout.dims[dim].push_back(axis);
    return version;
  };
  for (int i = 0; i < int(structure.operands.size()); ++i) {
    Version needs = layout(structure.operands[i]);
    for (unsigned axis = 0; axis < drives.size(); ++axis) {
      if (drives[axis] == sums || drives[axis] == maximum ||
          drives[axis] == sumOf - i)
        needs.layout.pending.push_back(axis);
      needs.isMaximum |= drives[axis] == maximum;
    }
    if (!divides(needs.layout, shapeOf(structure.operands[i]), sizes))
      return std::nullopt;
    form.touched +=
        bytesOf(value(problem.operations[at].operands[i]), needs.layout, sizes);
    form.operands.push_back(std::move(needs));
  }
  for (const IndexStructure::Tensor &tensor : structure.results) {
    Version comesOut = layout(tensor);
    std::set<bool> kinds;
    for (unsigned axis = 0; axis < drives.size(); ++axis) {
      bool isReduced = drives[axis] >= 0 && dimOf(tensor, drives[axis]) < 0;
      if (!isReduced && drives[axis] > maximum)
        continue;
      comesOut.layout.pending.push_back(axis);
      kinds.insert(isReduced ? structure.reduction == Reduction::Max
                             : drives[axis] == maximum);
    }
    if (kinds.size() > 1 || !divides(comesOut.layout, shapeOf(tensor), sizes))
      return std::nullopt;
    comesOut.isMaximum = kinds.count(true);
    form.touched +=
        bytesOf(value(problem.operations[at].results[form.results.size()]),
                comesOut.layout, sizes);
    form.results.push_back(std::move(comesOut));
  }
  for (unsigned axis = 0; axis < drives.size(); ++axis)
    if (drives[axis] >= 0)
      form.work /= double(sizes[axis]);
  return form;
}

bool JointOracle::pay(size_t at, unsigned number, const Version &from,
                      const Version &to, JointPrice &price) {
  if ((!to.layout.pending.empty() && from.isMaximum != to.isMaximum))
    return false;
  auto moved = movements[number].price(from.layout, to.layout);
  if (!moved)
    return false;
  price.moves += moved->moves;
  price.bytes += moved->bytes;
  if (problem.operations[at].isReshard)
    return true;
  const Value &v = value(number);
  if (!v.isWeight)
    price.moved += double(sendFactor * moved->bytes);
  unsigned uncounted = 0;
  bool isShared = v.isWeight; // in a bucket
  for (unsigned axis = 0; axis < sizes.size(); ++axis) {
    int before = stateOf(from.layout, axis), after = stateOf(to.layout, axis);
    if (before == after || before == isWhole)
      continue;
    bool isReduced = before == isPending, isVector = v.shape.size() < 2;
    uncounted += v.isWeight && isVector && isReduced &&
                 problem.operations[at].times == 1;
    AxisRole role = problem.mesh.axis(axis).role;
    bool mustMove =
        isReduced && after == isWhole &&
        !(wishes[number] && stateOf(wanted(number).layout, axis) >= 0);
    isShared &= isReduced;
    price.againstRole += v.isWeight
                             ? role == AxisRole::Model && !isVector && !mustMove
                             : role == AxisRole::Data && !v.isSmall;
  }
  unsigned counted = moved->moves - std::min(moved->moves, uncounted);
  (v.isSmall || isShared ? price.small : price.collectives) += counted;
  return true;
}

const JointOracle::Version *
JointOracle::nearest(unsigned number, const Available &has, const Version &to) {
  const Version *best = nullptr;
  std::optional<Price> least;
  for (const Version &version : has.versions) {
    if (!to.layout.pending.empty() && version.isMaximum != to.isMaximum)
      continue;
    auto price = movements[number].price(version.layout, to.layout);
    if (!price || (least && !(*price < *least)))
      continue;
    least = price;
    best = &version;
  }
  return best;
}

bool JointOracle::bring(size_t at, unsigned operand, const Form &form,
                        Available &has, JointPrice &price) {
  const Operation &operation = problem.operations[at];
  unsigned number = operation.operands[operand];
  const Version &needs = form.operands[operand];
  const Version *source = nearest(number, has, needs);
  if (!source)
    return false;
  for (unsigned axis : source->layout.pending)
    price.earlySums += stateOf(needs.layout, axis) != isPending;
  for (unsigned axis = 0; axis < sizes.size(); ++axis) {
    if (isUnit(axis) || stateOf(needs.layout, axis) != isWhole)
      continue;
    bool wasWhole = false, couldWork = false;
    auto look = [&](const Version &version) {
      int dim = stateOf(version.layout, axis);
      if (form.drives[axis] >= 0 || dim < 0)
        return;
      unsigned index = operation.structure.operands[operand].indices[dim];
      couldWork |= !operation.structure.indices[index].whole &&
                   !sumsZeros(problem, operation, operand, index);
    };
    for (const Version &version : has.versions) {
      wasWhole |= stateOf(version.layout, axis) == isWhole;
      look(version);
    }
    if (wishes[number])
      look(wanted(number));
    if (!wasWhole && couldWork) {
      ++price.idle;
      has.idle.insert(axis);
    } else if (!couldWork && has.idle.erase(axis)) {
      --price.idle;
    }
  }
  if (!pay(at, number, *source, needs, price))
    return false;
  noteDivided(needs, has);
  has.versions.insert(needs);
  return true;
}

JointOracle::Available JointOracle::madeIn(const Version &home) const {
  Available has;
  noteDivided(home, has);
  has.versions.insert(home);
  return has;
}

/// Notes the axes that divide a new version and over which no version is whole.
void JointOracle::noteDivided(const Version &needs, Available &has) const {
  for (unsigned axis = 0; axis < sizes.size(); ++axis) {
    bool isCut = llvm::any_of(has.versions, [&](const Version &version) {
      return stateOf(version.layout, axis) == isWhole;
    });
    if (stateOf(needs.layout, axis) >= 0 && !isCut)
      has.divided.insert(axis);
  }
}

/// The number of data axes over which a matrix of parameters, or its gradient,
/// meets an activation that is needed whole and divided.
unsigned JointOracle::meetingGathered(size_t at, const Form &form,
                                      State &state) const {
  const Operation &operation = problem.operations[at];
  auto isMatrix = [&](unsigned number) {
    return value(number).isWeight && value(number).shape.size() >= 2;
  };
  if (!llvm::any_of(operation.operands, isMatrix) &&
      !llvm::any_of(operation.results, isMatrix))
    return 0;
  unsigned count = 0;
  for (unsigned axis = 0; axis < sizes.size(); ++axis) {
    if (problem.mesh.axis(axis).role != AxisRole::Data || isUnit(axis) ||
        form.drives[axis] < nothing)
      continue;
    bool isGathered = false;
    for (auto [needs, number] :
         llvm::zip_equal(form.operands, operation.operands))
      isGathered |=
          !value(number).isWeight && !value(number).isSmall &&
          stateOf(needs.layout, axis) == isWhole &&
          state[slotOf(number, operation.part)].divided.count(axis) > 0;
    count += isGathered;
  }
  return count;
}

/// Groups operands that are summands over the same axes and must be reduced.
std::vector<std::vector<unsigned>>
JointOracle::addedFirst(size_t at, const Form &form, State &state) {
  const Operation &operation = problem.operations[at];
  std::map<std::vector<unsigned>, std::vector<unsigned>> alike;
  for (unsigned i = 0; operation.isSum && i < operation.operands.size(); ++i) {
    unsigned number = operation.operands[i];
    const Version *source = nearest(
        number, state[slotOf(number, operation.part)], form.operands[i]);
    if (!source || source->isMaximum)
      continue;
    std::vector<unsigned> axes;
    for (unsigned axis : source->layout.pending)
      if (stateOf(form.operands[i].layout, axis) != isPending)
        axes.push_back(axis);
    if (!axes.empty())
      alike[axes].push_back(i);
  }
  std::vector<std::vector<unsigned>> groups;
  for (auto &[axes, members] : alike)
    if (members.size() > 1)
      groups.push_back(members);
  return groups;
}

bool JointOracle::bringOperands(size_t at, const Form &form, State &state,
                                JointPrice &price) {
  const Operation &operation = problem.operations[at];
  price.againstRole += meetingGathered(at, form, state);
  std::set<unsigned> done;
  for (const auto &group : addedFirst(at, form, state)) {
    // A group costs as much as its dearest member alone.
    std::optional<JointPrice> dearest;
    for (unsigned i : group) {
      unsigned number = operation.operands[i];
      Available copy = state[slotOf(number, operation.part)];
      JointPrice one;
      if (!bring(at, i, form, copy, one))
        return false;
      if (!dearest || dearest->bytes < one.bytes)
        dearest = one;
      done.insert(i);
    }
    price.againstRole += dearest->againstRole;
    price.collectives += dearest->collectives;
    price.small += dearest->small;
    price.moved += dearest->moved;
    price.bytes += dearest->bytes;
    price.moves += dearest->moves;
  }
  for (unsigned i = 0; i < operation.operands.size(); ++i)
    if (!done.count(i) &&
        !bring(at, i, form,
               state[slotOf(operation.operands[i], operation.part)], price))
      return false;
  return true;
}

/// Whether a value with a wanted placement may depart from it over an axis.
bool JointOracle::mayDepart(unsigned number, unsigned axis) const {
  Value::Freedom freedom = value(number).freedom;
  return freedom == Value::Free ||
         (freedom == Value::Undivided &&
          stateOf(wanted(number).layout, axis) == isWhole);
}

/// A result's placement if the axes of `kept`, a bit each, leave it as it comes
/// out, and the others move it to where it is wanted; nullopt if not allowed.
std::optional<JointOracle::Version> JointOracle::stayed(unsigned number,
                                                        const Version &comesOut,
                                                        unsigned kept) const {
  if (!wishes[number])
    return kept == 0 ? std::optional(comesOut) : std::nullopt;
  Version home = wanted(number);
  bool isAll = true;
  for (unsigned axis = 0; axis < sizes.size(); ++axis) {
    int out = stateOf(comesOut.layout, axis),
        wish = stateOf(wanted(number).layout, axis);
    if (!(kept >> axis & 1)) {
      isAll &= out == wish;
      continue;
    }
    bool waits = out == isPending;
    if (out == wish || !mayDepart(number, axis))
      return std::nullopt;
    putAxis(home.layout, axis, out);
    home.isMaximum |= waits && comesOut.isMaximum;
  }
  return kept && isAll ? comesOut : home;
}

void JointOracle::leave(size_t at, const Form &form, State state,
                        JointPrice price, unsigned result, Reached &next) {
  const Operation &operation = problem.operations[at];
  if (result == operation.results.size()) {
    for (auto entry = state.begin(); entry != state.end();) {
      auto last = lastUses.find(entry->first);
      bool isDead = last == lastUses.end() || last->second <= at;
      entry = isDead ? state.erase(entry) : std::next(entry);
    }
    JointPrice all = before;
    all.add(price, operation.times);
    auto [place, isNew] = next.try_emplace(std::move(state), all);
    if (!isNew && all < place->second)
      place->second = all;
    return;
  }
  unsigned number = operation.results[result];
  for (unsigned kept = 0; kept < 1u << sizes.size(); ++kept) {
    auto home = stayed(number, form.results[result], kept);
    JointPrice paid = price;
    if (!home || !pay(at, number, form.results[result], *home, paid))
      continue;
    Version whole = *home;
    whole.layout.pending.clear();
    for (auto reader : value(number).readers) {
      // The reader's result is taken to be as large as if it were whole,
      // because its size is not known.
      bool isLinear = llvm::all_of(value(number).readers,
                                   [](auto &each) { return each.has_value(); });
      Version made;
      made.layout.dims.resize(value(isLinear ? *reader : number).shape.size());
      Version sum = isLinear ? made : *home;
      if (isLinear)
        sum.layout.pending = home->layout.pending;
      pay(at, isLinear ? *reader : number, sum, isLinear ? made : whole, paid);
      if (!isLinear)
        break;
    }
    State after = state;
    after[slotOf(number, 0)] = madeIn(*home);
    leave(at, form, std::move(after), paid, result + 1, next);
  }
}

void JointOracle::follow(size_t at, const Form &form, State state,
                         const JointPrice &paid, Reached &next) {
  const Operation &operation = problem.operations[at];
  for (unsigned number : operation.operands) {
    Available &has = state[slotOf(number, operation.part)];
    if (has.versions.empty())
      has = madeIn(wanted(number));
  }
  before = paid;
  JointPrice price;
  price.work = form.work;
  price.moved = problem.operations[at].isReshard ? 0 : form.touched;
  if (bringOperands(at, form, state, price))
    leave(at, form, std::move(state), price, 0, next);
}

std::optional<JointPrice> JointOracle::best(size_t mostStates) {
  Reached reached = {{State(), JointPrice()}};
  for (size_t at = 0; at < problem.operations.size(); ++at) {
    Reached next;
    std::vector<Form> forms = formsOf(at);
    for (const auto &[state, price] : reached)
      for (const Form &form : forms)
        follow(at, form, state, price, next);
    if (next.size() > mostStates) {
      overflow = true;
      return std::nullopt;
    }
    reached = std::move(next);
  }
  std::optional<JointPrice> best;
  for (const auto &[state, price] : reached)
    if (!best || price < *best)
      best = price;
  return best;
}

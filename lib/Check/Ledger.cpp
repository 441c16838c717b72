#include "Ledger.h"

#include "Form.h"
#include "Hypotheses.h"

#include "tpsp/Abi/NamePattern.h"
#include "tpsp/Check/Check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

using namespace tpsp;
using namespace tpsp::check;

bool tpsp::check::meetAlong(const Plan &plan, const LedgerRow &row,
                            int64_t axis) {
  return axis != plan.stageAxis || row.stages.empty() ||
         int64_t(row.stages.size()) == plan.numStages();
}

std::vector<int64_t> tpsp::check::axesOf(const Plan &plan,
                                         const LedgerRow &row) {
  std::vector<int64_t> axes;
  for (const std::string &name : row.axes)
    for (size_t i = 0; i < plan.mesh.size(); ++i)
      if (plan.mesh[i].name == name)
        axes.push_back(int64_t(i));
  return axes;
}

std::string tpsp::check::rowText(const LedgerRow &row) {
  return fmt::format("{} of {} over {}: {}", nameOf(row.kind), row.tensor,
                     fmt::join(row.axes, " and "), row.reason);
}

std::string tpsp::check::ruleOf(const LedgerRow &row) {
  // A sum that is pending must be completed; everything else is a movement.
  bool isSum = row.kind == CollectiveKind::AllReduce ||
               row.kind == CollectiveKind::ReduceScatter;
  return isSum ? "I6, C1" : "C1";
}

static bool isReduction(const LedgerRow &row) {
  return row.kind == CollectiveKind::AllReduce ||
         row.kind == CollectiveKind::ReduceScatter;
}

/// Whether commands of this kind can be changed (ChangedBackend.cpp).
static bool canChange(const LedgerRow &row) {
  return (isReduction(row) || row.kind == CollectiveKind::AllGather) &&
         row.group > 1 && !row.commands.empty();
}

std::vector<int64_t> tpsp::check::rowsOf(const Plan &plan,
                                         const PlanBuffer &tensor) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < plan.ledger.size(); ++i) {
    const LedgerRow &row = plan.ledger[i];
    bool isOfGradient = tensor.kind == BufferKind::Gradient &&
                        std::find(row.gradients.begin(), row.gradients.end(),
                                  tensor.of) != row.gradients.end();
    // Sums inside of an update do not add up the new parameter.
    bool isOfResult = row.tensor == tensor.name && row.phase != Phase::Update;
    if (isReduction(row) && canChange(row) && (isOfGradient || isOfResult))
      rows.push_back(int64_t(i));
  }
  std::sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) {
    return plan.ledger[a].commands.front() < plan.ledger[b].commands.front();
  });
  return rows;
}

static bool isIn(int64_t axis, const std::vector<int64_t> &axes) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Change tpsp::check::reducedOver(const Plan &plan,
                                const std::vector<const PlanBuffer *> &tensors,
                                const std::vector<int64_t> &axes) {
  Change change;
  for (const PlanBuffer *tensor : tensors) {
    std::vector<int64_t> rows = rowsOf(plan, *tensor), later;
    for (size_t i = rows.size(); i-- > 0;) {
      std::vector<int64_t> own = axesOf(plan, plan.ledger[rows[i]]), now;
      // The first row takes what no later one does.
      for (int64_t axis : axes)
        if (!isIn(axis, later) && (i == 0 || isIn(axis, own)) &&
            meetAlong(plan, plan.ledger[rows[i]], axis))
          now.push_back(axis);
      later.insert(later.end(), now.begin(), now.end());
      for (int64_t command : plan.ledger[rows[i]].commands)
        change.commands[command] = {now, 1};
    }
  }
  return change;
}

namespace {

/// Rows of one place in the program, which differ in their layer.
struct RowGroup {
  std::vector<int64_t> rows;
  int64_t firstCommand = 0;
};

class HypothesisList {
public:
  HypothesisList(const Plan &plan, const rt::RankMesh &mesh)
      : plan(plan), mesh(mesh) {}

  void addGroup(const std::vector<int64_t> &rows) {
    const LedgerRow &row = plan.ledger[rows.front()];
    std::vector<int64_t> own = axesOf(plan, row);
    double size = double(row.group);
    if (row.kind == CollectiveKind::AllGather) {
      add(rows, {}, 1, 3, "{} does not gather: each rank repeats its part");
      add(rows, own, 1, 4, "{} gathers the parts in the reverse order");
      add(rows, {}, 1, 4,
          "{} is missing: zeros are in place of other ranks' parts",
          /*hasOwnAlone=*/true);
      return;
    }
    for (const std::vector<int64_t> &left : subsetsOf(own))
      if (left.size() < own.size())
        add(rows, left, 1, 1,
            left.empty() ? "{} is missing"
                         : "{} is over " + axesText(mesh, left) + " alone");
    add(rows, own, size, 2, "{} is done twice, or multiplied by the ranks");
    add(rows, own, 1 / size, 2, "{} is a mean, not a sum");
    add(rows, {}, size, 3,
        "{} is missing, and the mean over the ranks is taken of what follows "
        "from each rank's own: a mean of means");
    addOtherAxes(rows, own);
  }

  /// A vector that all ranks of an axis add to their summands counts as often.
  void addArguments() {
    std::map<int64_t, std::vector<std::string>> axesBySize;
    for (const MeshAxis &axis : plan.mesh)
      if (axis.size > 1)
        axesBySize[axis.size].push_back(axis.name);
    for (const PlanBuffer &tensor : plan.tensors())
      if (tensor.kind == BufferKind::Parameter && tensor.shape.size() == 1)
        for (const auto &[size, axes] : axesBySize)
          addArgument(tensor, double(size),
                      fmt::format("{}", fmt::join(axes, " or ")));
  }

  /// Ranks may have parts of a parameter that others should have. Layers alike
  /// are tried together.
  void addParts() {
    std::map<std::string, std::vector<const PlanBuffer *>> alike;
    std::vector<std::string> inOrder;
    for (const PlanBuffer &tensor : plan.tensors()) {
      // Padding and uneven pieces stay where they are.
      if (tensor.kind != BufferKind::Parameter || !tensor.padding.empty() ||
          PlacedTensor(tensor, mesh).dividing().empty())
        continue;
      auto [found, isNew] = alike.try_emplace(patternOf(tensor.name));
      if (isNew)
        inOrder.push_back(found->first);
      found->second.push_back(&tensor);
    }
    for (const std::string &pattern : inOrder)
      addPartsOf(pattern, alike[pattern]);
  }

  std::vector<StepHypothesis> list;

private:
  void addPartsOf(const std::string &pattern,
                  const std::vector<const PlanBuffer *> &tensors) {
    std::vector<int64_t> axes = PlacedTensor(*tensors.front(), mesh).dividing();
    int64_t size = 1;
    for (int64_t axis : axes)
      size *= plan.mesh[axis].size;
    if (size == 1)
      return;
    std::vector<int64_t> next, before, reversed, first(size, 0);
    for (int64_t i = 0; i < size; ++i) {
      next.push_back((i + 1) % size);
      before.push_back((i + size - 1) % size);
      reversed.push_back(size - 1 - i);
    }
    std::string over = axesText(mesh, axes);
    auto add = [&](const std::vector<int64_t> &from, const std::string &whose) {
      StepHypothesis &hypothesis = list.emplace_back();
      hypothesis.text = fmt::format(
          "each rank of {} has the part of {} that {} should have", over,
          tensors.size() > 1 ? pattern : tensors[0]->name, whose);
      hypothesis.weight = 6;
      for (const PlanBuffer *tensor : tensors)
        hypothesis.change.parts[tensor->number] = {axes, from};
    };
    add(next, size > 2 ? "the next one" : "the other one");
    if (size > 2)
      add(before, "the one before");
    if (size > 3)
      add(reversed, "the one in the reverse order");
    add(first, "the first one");
  }

  void add(const std::vector<int64_t> &rows, const std::vector<int64_t> &axes,
           double factor, int weight, const std::string &text,
           bool hasOwnAlone = false) {
    StepHypothesis &hypothesis = list.emplace_back();
    const LedgerRow &row = plan.ledger[rows.front()];
    std::string what =
        fmt::format("the {} of {} over {}", nameOf(row.kind),
                    rows.size() > 1 ? patternOf(row.tensor) : row.tensor,
                    fmt::join(row.axes, " and "));
    hypothesis.text = fmt::format(fmt::runtime(text), what);
    hypothesis.row = rows.front();
    hypothesis.weight = weight;
    for (int64_t each : rows)
      for (int64_t command : plan.ledger[each].commands)
        hypothesis.change.commands[command] = {axes, factor, hasOwnAlone};
  }

  void addOtherAxes(const std::vector<int64_t> &rows,
                    const std::vector<int64_t> &own) {
    for (int64_t axis = 0; axis < int64_t(plan.mesh.size()); ++axis) {
      if (plan.mesh[axis].size == 1 || isIn(axis, own) ||
          !meetAlong(plan, plan.ledger[rows.front()], axis))
        continue;
      add(rows, {axis}, 1, 5,
          "{} is over " + plan.mesh[axis].name + " instead");
      std::vector<int64_t> both = own;
      both.push_back(axis);
      add(rows, both, 1, 5, "{} is over " + plan.mesh[axis].name + ", too");
    }
  }

  void addArgument(const PlanBuffer &tensor, double size,
                   const std::string &axes) {
    StepHypothesis &hypothesis = list.emplace_back();
    hypothesis.text =
        fmt::format("{} counts {} times, once for each rank of {}", tensor.name,
                    size, axes);
    hypothesis.weight = 6;
    hypothesis.change.arguments[tensor.number] = size;
  }

  const Plan &plan;
  const rt::RankMesh &mesh;
};

} // namespace

std::vector<StepHypothesis> tpsp::check::hypothesesOf(const Plan &plan,
                                                      const rt::RankMesh &mesh,
                                                      bool ofSingleRows) {
  using Key = std::tuple<CollectiveKind, std::vector<std::string>, Phase,
                         std::string, std::string>;
  std::map<Key, RowGroup> groups;
  for (size_t i = 0; i < plan.ledger.size(); ++i) {
    const LedgerRow &row = plan.ledger[i];
    if (!canChange(row))
      continue;
    RowGroup &group = groups[{row.kind, row.axes, row.phase,
                              patternOf(row.tensor), row.location}];
    if (group.rows.empty())
      group.firstCommand = row.commands.front();
    group.rows.push_back(int64_t(i));
  }
  std::vector<RowGroup> inOrder;
  for (auto &[key, group] : groups)
    inOrder.push_back(std::move(group));
  std::sort(inOrder.begin(), inOrder.end(), [](const auto &a, const auto &b) {
    return a.firstCommand < b.firstCommand;
  });
  HypothesisList all(plan, mesh);
  for (const RowGroup &group : inOrder) {
    if (!ofSingleRows)
      all.addGroup(group.rows);
    for (int64_t row : group.rows)
      if (ofSingleRows && group.rows.size() > 1)
        all.addGroup({row});
  }
  if (!ofSingleRows) {
    all.addArguments();
    all.addParts();
  }
  return std::move(all.list);
}

// Compares the documents' rule for backward communication with the derivation:
// for a table of strategies, and for every small einsum.
#include "tpsp/Algebra/BackwardRule.h"
#include "tpsp/Algebra/ComputePlacement.h"

#include "EinsumCases.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace tpsp;
using namespace tpsp::oracle;

namespace {

/// The tensors that collectives for one operand's gradient move.
struct Derived {
  /// Whether the result's gradient is moved before, or the operand's after.
  bool gradientMoves = false;
  /// Whether other operands, which the adjoint reads, are moved.
  bool othersMove = false;

  bool any() const { return gradientMoves || othersMove; }
};

bool communicates(const Placement &from, const Placement &to) {
  std::optional<Transition> steps = planTransition(from, to);
  return llvm::any_of(*steps, [](const CollectiveStep &step) {
    return step.kind != CollectiveKind::Slice;
  });
}

/// Derives the adjoint under its compute placement. A sum's adjoint reads only
/// the gradient.
Derived derive(const IndexStructure &structure,
               llvm::ArrayRef<Placement> operands, const Placement &result,
               unsigned operand, const Mesh &mesh) {
  IndexStructure gradient = adjoint(structure, operand);
  llvm::SmallVector<Placement> placements = {result};
  if (structure.linearity == Linearity::Joint)
    gradient.operands.resize(1);
  else
    for (auto [i, placement] : llvm::enumerate(operands))
      if (i != operand)
        placements.push_back(placement);
  std::optional<Placement> wanted = operands[operand];
  auto choice = chooseComputePlacement({gradient, placements, wanted, mesh});
  Derived derived;
  derived.gradientMoves = communicates(result, choice->operands[0]) ||
                          communicates(choice->results[0], *wanted);
  for (unsigned i = 1; i < placements.size(); ++i)
    derived.othersMove |= communicates(placements[i], choice->operands[i]);
  return derived;
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

/// Why the derivation communicates although the rule says no.
enum Exception { Agrees, Regather, OneSidedSum };

struct Gradient {
  bool rule;
  bool derived;
  Exception exception = Agrees;
};

struct Case {
  const char *name;
  Linearity linearity;
  std::vector<const char *> operands;
  const char *result;
  std::vector<Gradient> gradients;

  friend std::ostream &operator<<(std::ostream &out, const Case &example) {
    return out << example.name;
  }
};

constexpr Linearity product = Linearity::Multi, sum = Linearity::Joint;
constexpr Gradient none = {false, false}, needed = {true, true},
                   regather = {false, true, Regather},
                   oneSided = {false, true, OneSidedSum};

const Case cases[] = {
    // Data parallelism: the weight's gradient is summed over the batch.
    {"DDP", product, {"e,d", "b@x,s,d"}, "b@x,s,e", {needed, none}},
    // Its shards are gathered for the product, and again for the input's
    // gradient. The rule does not cover the latter.
    {"FSDP", product, {"e@x,d", "b@x,s,d"}, "b@x,s,e", {needed, regather}},
    {"FSDP, sharded on the summed index",
     product,
     {"e,d@x", "b@x,s,d"},
     "b@x,s,e",
     {needed, regather}},
    {"TP column", product, {"e@x,d", "b,s,d"}, "b,s,e@x", {none, needed}},
    // The result has no shards of e. Still nothing is needed, because every
    // rank has the whole gradient.
    {"TP row", product, {"d,e@x", "b,s,e@x"}, "b,s,d", {none, none}},
    {"SP column", product, {"e@x,d", "b,s@x,d"}, "b,s,e@x", {regather, needed}},
    {"SP row", product, {"d,e@x", "b,s,e@x"}, "b,s@x,d", {needed, needed}},
    {"CP attention, scores",
     product,
     {"b,s@x,h,k", "b,t@x,h,k"},
     "b,h,s@x,t",
     {regather, needed}},
    {"CP attention, values",
     product,
     {"b,h,s@x,t", "b,t@x,h,k"},
     "b,s@x,h,k",
     {regather, needed}},
    {"norm gain under SP",
     product,
     {"b,s@x,d", "d"},
     "b,s@x,d",
     {none, needed}},
    {"norm gain under TP", product, {"b,s,d", "d"}, "b,s,d", {none, none}},
    {"EP dispatch", sum, {"e,g@x,c,d"}, "e@x,g,c,d", {needed}},
    {"EP experts",
     product,
     {"e@x,f,d", "e@x,g,c,d"},
     "e@x,g,c,f",
     {none, none}},
    {"EP combine", sum, {"e@x,g,c,d"}, "e,g@x,c,d", {needed}},
    {"residual add", sum, {"b,s@x,d", "b,s@x,d"}, "b,s@x,d", {none, none}},
    {"residual add, one whole",
     sum,
     {"b,s@x,d", "b,s,d"},
     "b,s@x,d",
     {none, needed}},
    {"bias under SP", sum, {"b,s@x,d", "d"}, "b,s@x,d", {none, needed}},
    // A gather forward is a free slice backward, and the reverse.
    {"gather", sum, {"b,s@x,d"}, "b,s,d", {none}},
    {"slice", sum, {"b,s,d"}, "b,s@x,d", {needed}},
    {"DDP and CP", product, {"e,d", "b@x,s@y,d"}, "b@x,s@y,e", {needed, none}},
    {"TP, SP and FSDP",
     product,
     {"e@x,d@y", "b@y,s@x,d"},
     "b@y,s,e@x",
     {needed, needed}},
    {"GQA, heads on two axes",
     product,
     {"b,s,g@x,r@y,k", "b,t,g@x,k"},
     "b,g@x,r@y,s,t",
     {none, needed}},
    {"one-sided sum", product, {"e,d", "b,s,d@x"}, "b,s,e", {oneSided, none}},
    {"vocabulary-parallel head",
     product,
     {"v@x,d", "b,s,d"},
     "b,s,v@x",
     {none, needed}},
};

/// Parses "b, s@x" into a tensor of `structure` and its placement.
Placement parse(llvm::StringRef text, const Mesh &mesh,
                IndexStructure &structure, IndexStructure::Tensor &tensor) {
  Placement placement;
  llvm::SmallVector<llvm::StringRef> entries;
  text.split(entries, ',');
  for (llvm::StringRef entry : entries) {
    auto [name, axis] = entry.split('@');
    tensor.indices.push_back(structure.intern(name, 64));
    tensor.shape.push_back(64);
    placement.dims.emplace_back();
    if (!axis.empty())
      placement.dims.back().push_back(*mesh.find(axis));
  }
  return placement;
}

class StrategyTest : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(BackwardRule, StrategyTest, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case> &info) {
                           std::string name = info.param.name;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !isalnum(c); }, '_');
                           return name;
                         });

TEST_P(StrategyTest, RuleAndDerivationAreAsTheTableSays) {
  Mesh mesh({{"x", 4}, {"y", 2}});
  IndexStructure structure;
  structure.linearity = GetParam().linearity;
  llvm::SmallVector<Placement> operands;
  for (const char *text : GetParam().operands) {
    structure.operands.emplace_back();
    operands.push_back(parse(text, mesh, structure, structure.operands.back()));
  }
  structure.results.emplace_back();
  Placement result =
      parse(GetParam().result, mesh, structure, structure.results.back());

  auto must = mustHaveBackwardCollective(structure, operands, result);
  for (auto [i, expected] : llvm::enumerate(GetParam().gradients)) {
    SCOPED_TRACE("operand " + std::to_string(i));
    Derived derived = derive(structure, operands, result, i, mesh);
    EXPECT_EQ(must[i], expected.rule);
    EXPECT_EQ(derived.any(), expected.derived);
    if (expected.exception == Regather) {
      EXPECT_TRUE(derived.othersMove);
      EXPECT_FALSE(derived.gradientMoves);
    }
    if (expected.exception == OneSidedSum) {
      EXPECT_TRUE(derived.gradientMoves);
    }
  }
}

//===----------------------------------------------------------------------===//
// Every small einsum
//===----------------------------------------------------------------------===//

/// Returns the placements with the axis nowhere or on one of the dimensions.
std::vector<Placement> placementsOf(const IndexStructure::Tensor &tensor) {
  std::vector<Placement> all = {Placement(tensor.indices.size())};
  for (unsigned dim = 0; dim < tensor.indices.size(); ++dim) {
    all.emplace_back(tensor.indices.size());
    all.back().dims[dim].push_back(0);
  }
  return all;
}

/// Whether the axis shards an index of the tensor but not the same index of the
/// result.
bool isElsewhere(const IndexStructure::Tensor &tensor,
                 const Placement &placement,
                 const IndexStructure::Tensor &result,
                 const Placement &resultPlacement) {
  std::optional<unsigned> dim = placement.dimOf(0);
  if (!dim)
    return false;
  std::optional<unsigned> onto = result.dimOf(tensor.indices[*dim]);
  return !onto || resultPlacement.dimOf(0) != onto;
}

TEST(BackwardRuleTest, IsSoundAndItsExceptionsAreTheOnesListed) {
  Mesh mesh(std::vector<MeshAxis>{{"x", 2}});
  unsigned agreed = 0, exceptions = 0;
  for (unsigned count = 1; count <= 4; ++count)
    for (const std::vector<Role> &roles : allRoles(count)) {
      std::vector<CaseIndex> indices;
      for (Role role : roles)
        indices.push_back({role, 4});
      IndexStructure einsum = structureOf(indices);
      for (const Placement &first : placementsOf(einsum.operands[0]))
        for (const Placement &second : placementsOf(einsum.operands[1]))
          for (const Placement &result : placementsOf(einsum.results[0])) {
            llvm::SmallVector<Placement> operands = {first, second};
            auto must = mustHaveBackwardCollective(einsum, operands, result);
            for (unsigned i = 0; i < 2; ++i) {
              bool derived = derive(einsum, operands, result, i, mesh).any();
              if (must[i] == derived) {
                ++agreed;
                continue;
              }
              ++exceptions;
              EXPECT_FALSE(must[i])
                  << "the rule is not sound for " << oracle::toString(roles);
              EXPECT_TRUE(isElsewhere(einsum.operands[0], first,
                                      einsum.results[0], result) ||
                          isElsewhere(einsum.operands[1], second,
                                      einsum.results[0], result))
                  << "an exception that is not listed: "
                  << oracle::toString(roles);
            }
          }
    }
  EXPECT_GT(agreed, 1000u);
  EXPECT_GT(exceptions, 100u);
  RecordProperty("agreed", agreed);
  RecordProperty("exceptions", exceptions);
}

} // namespace

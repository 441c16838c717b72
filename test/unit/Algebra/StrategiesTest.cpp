// The documents' strategies as placements of single einsums. The collectives of
// each must follow from the subscripts alone, at every batch size.
#include "tpsp/Algebra/ComputePlacement.h"

#include "llvm/ADT/StringExtras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

using namespace tpsp;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

using Collectives = std::vector<std::string>;
using Extents = std::map<std::string, int64_t>;

/// An einsum in sharded notation: {"e@tp, d", "b, s@tp, d"} -> "b, s, e@tp".
class Program {
public:
  Program(std::vector<MeshAxis> axes, Extents extents)
      : mesh(std::move(axes)), extents(std::move(extents)) {}

  /// Returns "0: all_gather s@tp" for every collective that an operand ("0",
  /// "1") or the result ("=") needs. Slices are included, although they are
  /// free.
  Collectives collectives(std::vector<std::string> operands,
                          std::string result) const {
    IndexStructure structure;
    structure.linearity = Linearity::Multi;
    std::vector<Placement> placements;
    for (const std::string &operand : operands) {
      structure.operands.emplace_back();
      placements.push_back(
          parse(operand, structure, structure.operands.back()));
    }
    structure.results.emplace_back();
    std::optional<Placement> wanted =
        parse(result, structure, structure.results.back());
    auto choice = chooseComputePlacement({structure, placements, wanted, mesh});
    if (!choice)
      return {"illegal"};
    Collectives found;
    for (unsigned i = 0; i < operands.size(); ++i)
      describe(std::to_string(i), structure, structure.operands[i],
               placements[i], choice->operands[i], found);
    describe("=", structure, structure.results[0], choice->results[0], *wanted,
             found);
    return found;
  }

private:
  Placement parse(llvm::StringRef text, IndexStructure &structure,
                  IndexStructure::Tensor &tensor) const {
    Placement placement;
    llvm::SmallVector<llvm::StringRef> entries, parts;
    text.split(entries, ',');
    for (llvm::StringRef entry : entries) {
      parts.clear();
      entry.trim().split(parts, '@');
      int64_t extent = extents.at(parts[0].str());
      tensor.indices.push_back(structure.intern(parts[0], extent));
      tensor.shape.push_back(extent);
      placement.dims.emplace_back();
      for (llvm::StringRef axis : llvm::ArrayRef(parts).drop_front())
        placement.dims.back().push_back(*mesh.find(axis));
    }
    return placement;
  }

  void describe(llvm::StringRef who, const IndexStructure &structure,
                const IndexStructure::Tensor &tensor, const Placement &from,
                const Placement &to, Collectives &found) const {
    auto indexOf = [&](unsigned dim) {
      return structure.indices[tensor.indices[dim]].name;
    };
    std::optional<Transition> steps = planTransition(from, to);
    for (const CollectiveStep &step : *steps) {
      std::string text = (who + ": " + name(step.kind) + " ").str();
      if (step.from)
        text += indexOf(*step.from);
      if (step.from && step.to)
        text += "->";
      if (step.to)
        text += indexOf(*step.to);
      text += "@" + mesh.names(step.axes);
      found.push_back(text);
    }
  }

  Mesh mesh;
  Extents extents;
};

/// Tests strategies at one batch size per rank of each data axis.
class StrategiesTest : public testing::TestWithParam<int64_t> {
protected:
  int64_t batch() const { return GetParam(); }

  /// Returns extents of wide weights, and a batch of batch() for each of
  /// `ranks`.
  Extents dense(int64_t ranks) const {
    return {{"b", batch() * ranks}, {"s", 4096}, {"d", 4096}, {"e", 16384}};
  }
};

INSTANTIATE_TEST_SUITE_P(Batch, StrategiesTest,
                         testing::Values(1, 2, 16, 128, 1024, 4096));

TEST_P(StrategiesTest, DataParallel) {
  Program program({{"dp", 8, AxisRole::Data}}, dense(8));
  EXPECT_THAT(program.collectives({"e,d", "b@dp,s,d"}, "b@dp,s,e"), IsEmpty());
  EXPECT_THAT(program.collectives({"e,d", "b@dp,s,e"}, "b@dp,s,d"), IsEmpty());
  EXPECT_THAT(program.collectives({"b@dp,s,e", "b@dp,s,d"}, "e,d"),
              ElementsAre("=: all_reduce @dp"));
}

TEST_P(StrategiesTest, FullyShardedDataParallel) {
  Program program({{"fsdp", 8, AxisRole::Data}}, dense(8));
  EXPECT_THAT(program.collectives({"e@fsdp,d", "b@fsdp,s,d"}, "b@fsdp,s,e"),
              ElementsAre("0: all_gather e@fsdp"));
  EXPECT_THAT(program.collectives({"e@fsdp,d", "b@fsdp,s,e"}, "b@fsdp,s,d"),
              ElementsAre("0: all_gather e@fsdp"));
  EXPECT_THAT(program.collectives({"b@fsdp,s,e", "b@fsdp,s,d"}, "e@fsdp,d"),
              ElementsAre("=: reduce_scatter e@fsdp"));
}

TEST_P(StrategiesTest, HybridShardedDataParallel) {
  Program program({{"dp", 4, AxisRole::Data}, {"fsdp", 8, AxisRole::Data}},
                  dense(32));
  EXPECT_THAT(
      program.collectives({"e@fsdp,d", "b@dp@fsdp,s,d"}, "b@dp@fsdp,s,e"),
      ElementsAre("0: all_gather e@fsdp"));
  EXPECT_THAT(
      program.collectives({"e@fsdp,d", "b@dp@fsdp,s,e"}, "b@dp@fsdp,s,d"),
      ElementsAre("0: all_gather e@fsdp"));
  // Reduce-scatter within the shard group first, then all-reduce across groups.
  EXPECT_THAT(
      program.collectives({"b@dp@fsdp,s,e", "b@dp@fsdp,s,d"}, "e@fsdp,d"),
      ElementsAre("=: reduce_scatter e@fsdp", "=: all_reduce @dp"));
}

TEST_P(StrategiesTest, TensorParallel) {
  Program program({{"tp", 8, AxisRole::Model}}, dense(1));
  // Column-parallel, then row-parallel.
  EXPECT_THAT(program.collectives({"e@tp,d", "b,s,d"}, "b,s,e@tp"), IsEmpty());
  EXPECT_THAT(program.collectives({"d,e@tp", "b,s,e@tp"}, "b,s,d"),
              ElementsAre("=: all_reduce @tp"));
  // The gradients of the row-parallel layer, then those of the column-parallel
  // layer.
  EXPECT_THAT(program.collectives({"d,e@tp", "b,s,d"}, "b,s,e@tp"), IsEmpty());
  EXPECT_THAT(program.collectives({"b,s,d", "b,s,e@tp"}, "d,e@tp"), IsEmpty());
  EXPECT_THAT(program.collectives({"e@tp,d", "b,s,e@tp"}, "b,s,d"),
              ElementsAre("=: all_reduce @tp"));
  EXPECT_THAT(program.collectives({"b,s,e@tp", "b,s,d"}, "e@tp,d"), IsEmpty());
}

TEST_P(StrategiesTest, TensorAndSequenceParallel) {
  Program program({{"tp", 8, AxisRole::Model}}, dense(1));
  EXPECT_THAT(program.collectives({"e@tp,d", "b,s@tp,d"}, "b,s,e@tp"),
              ElementsAre("1: all_gather s@tp"));
  EXPECT_THAT(program.collectives({"d,e@tp", "b,s,e@tp"}, "b,s@tp,d"),
              ElementsAre("=: reduce_scatter s@tp"));
  EXPECT_THAT(program.collectives({"d,e@tp", "b,s@tp,d"}, "b,s,e@tp"),
              ElementsAre("1: all_gather s@tp"));
  EXPECT_THAT(program.collectives({"b,s@tp,d", "b,s,e@tp"}, "d,e@tp"),
              ElementsAre("0: all_gather s@tp"));
  EXPECT_THAT(program.collectives({"e@tp,d", "b,s,e@tp"}, "b,s@tp,d"),
              ElementsAre("=: reduce_scatter s@tp"));
  EXPECT_THAT(program.collectives({"b,s,e@tp", "b,s@tp,d"}, "e@tp,d"),
              ElementsAre("1: all_gather s@tp"));
  // A norm's gain is replicated; its gradient is summed over the sequence.
  EXPECT_THAT(program.collectives({"b,s@tp,d", "b,s@tp,d"}, "d"),
              ElementsAre("=: all_reduce @tp"));
}

TEST_P(StrategiesTest, DataAndContextParallel) {
  Program program({{"dp", 4, AxisRole::Data}, {"cp", 2, AxisRole::Data}},
                  dense(4));
  EXPECT_THAT(program.collectives({"e,d", "b@dp,s@cp,d"}, "b@dp,s@cp,e"),
              IsEmpty());
  EXPECT_THAT(program.collectives({"e,d", "b@dp,s@cp,e"}, "b@dp,s@cp,d"),
              IsEmpty());
  // One reduction over the flattened axes, not one for each.
  EXPECT_THAT(program.collectives({"b@dp,s@cp,e", "b@dp,s@cp,d"}, "e,d"),
              ElementsAre("=: all_reduce @dp, cp"));
}

TEST_P(StrategiesTest, ContextParallelAttentionGathersKeysAndValues) {
  Program program(
      {{"cp", 4, AxisRole::Data}},
      {{"b", batch()}, {"h", 32}, {"s", 8192}, {"t", 8192}, {"k", 128}});
  EXPECT_THAT(program.collectives({"b,s@cp,h,k", "b,t@cp,h,k"}, "b,h,s@cp,t"),
              ElementsAre("1: all_gather t@cp"));
  EXPECT_THAT(program.collectives({"b,h,s@cp,t", "b,t@cp,h,k"}, "b,s@cp,h,k"),
              ElementsAre("1: all_gather t@cp"));
  EXPECT_THAT(program.collectives({"b,h,s@cp,t", "b,s@cp,h,k"}, "b,t@cp,h,k"),
              ElementsAre("=: reduce_scatter t@cp"));
}

TEST_P(StrategiesTest, ExpertParallel) {
  // Groups g of capacity c for each of e experts; x is the experts' hidden
  // index.
  Program program({{"ep", 8, AxisRole::Data}}, {{"e", 64},
                                                {"g", 8 * batch()},
                                                {"c", 16},
                                                {"s", 512},
                                                {"d", 2048},
                                                {"x", 4096}});
  // Dispatched groups are sent to their experts.
  EXPECT_THAT(program.collectives({"e@ep,d,x", "e,g@ep,c,d"}, "e@ep,g,c,x"),
              ElementsAre("1: all_to_all g->e@ep"));
  // Experts' outputs return to their groups.
  EXPECT_THAT(program.collectives({"g@ep,s,e,c", "e@ep,g,c,d"}, "g@ep,s,d"),
              ElementsAre("1: all_to_all e->g@ep"));
  // Backward: the same exchanges, mirrored; the experts' weights are local.
  EXPECT_THAT(program.collectives({"e@ep,d,x", "e@ep,g,c,x"}, "e,g@ep,c,d"),
              ElementsAre("=: all_to_all e->g@ep"));
  EXPECT_THAT(program.collectives({"g@ep,s,e,c", "g@ep,s,d"}, "e@ep,g,c,d"),
              ElementsAre("=: all_to_all g->e@ep"));
  EXPECT_THAT(program.collectives({"e@ep,g,c,d", "e@ep,g,c,x"}, "e@ep,d,x"),
              IsEmpty());
}

TEST_P(StrategiesTest, TensorSequenceAndFullyShardedDataParallel) {
  Program program({{"fsdp", 4, AxisRole::Data}, {"tp", 8, AxisRole::Model}},
                  dense(4));
  EXPECT_THAT(
      program.collectives({"e@tp,d@fsdp", "b@fsdp,s@tp,d"}, "b@fsdp,s,e@tp"),
      ElementsAre("0: all_gather d@fsdp", "1: all_gather s@tp"));
  EXPECT_THAT(
      program.collectives({"d@fsdp,e@tp", "b@fsdp,s,e@tp"}, "b@fsdp,s@tp,d"),
      ElementsAre("0: all_gather d@fsdp", "=: reduce_scatter s@tp"));
  EXPECT_THAT(
      program.collectives({"e@tp,d@fsdp", "b@fsdp,s,e@tp"}, "b@fsdp,s@tp,d"),
      ElementsAre("0: all_gather d@fsdp", "=: reduce_scatter s@tp"));
  EXPECT_THAT(
      program.collectives({"b@fsdp,s,e@tp", "b@fsdp,s@tp,d"}, "e@tp,d@fsdp"),
      ElementsAre("1: all_gather s@tp", "=: reduce_scatter d@fsdp"));
}

/// Both axes of a weight are on one index. Gathering one axis must not move the
/// other.
TEST_P(StrategiesTest, TensorSequenceAndFullyShardedOnOneIndex) {
  Program program({{"fsdp", 4, AxisRole::Data}, {"tp", 8, AxisRole::Model}},
                  dense(4));
  EXPECT_THAT(
      program.collectives({"e@tp@fsdp,d", "b@fsdp,s@tp,d"}, "b@fsdp,s,e@tp"),
      ElementsAre("0: all_gather e@fsdp", "1: all_gather s@tp"));
  EXPECT_THAT(
      program.collectives({"e@tp@fsdp,d", "b@fsdp,s,e@tp"}, "b@fsdp,s@tp,d"),
      ElementsAre("0: all_gather e@fsdp", "=: reduce_scatter s@tp"));
  EXPECT_THAT(
      program.collectives({"b@fsdp,s,e@tp", "b@fsdp,s@tp,d"}, "e@tp@fsdp,d"),
      ElementsAre("1: all_gather s@tp", "=: reduce_scatter e@fsdp"));
}

TEST_P(StrategiesTest, ExpertAndDataParallel) {
  Program program(
      {{"dp", 4, AxisRole::Data}, {"ep", 8, AxisRole::Data}},
      {{"e", 64}, {"g", 32 * batch()}, {"c", 16}, {"d", 2048}, {"x", 4096}});
  EXPECT_THAT(
      program.collectives({"e@ep,d,x", "e,g@dp@ep,c,d"}, "e@ep,g@dp,c,x"),
      ElementsAre("1: all_to_all g->e@ep"));
  EXPECT_THAT(
      program.collectives({"e@ep,g@dp,c,d", "e@ep,g@dp,c,x"}, "e@ep,d,x"),
      ElementsAre("=: all_reduce @dp"));
}

TEST_P(StrategiesTest, VocabularyParallelHead) {
  Extents extents = dense(1);
  extents["v"] = 128256;
  Program program({{"tp", 8, AxisRole::Model}}, extents);
  EXPECT_THAT(program.collectives({"v@tp,d", "b,s,d"}, "b,s,v@tp"), IsEmpty());
  EXPECT_THAT(program.collectives({"v@tp,d", "b,s,v@tp"}, "b,s,d"),
              ElementsAre("=: all_reduce @tp"));
}

} // namespace

// The profile of Megatron-LM against figures of its report_theoretical_memory.
// They were computed by hand for Llama-3.1-8B. It has 32 layers of width 4096
// and 14336 features, and 128256 words. There are 32 heads of 128 features, and
// 8 of keys.
#include "tpsp/Planner/Profile.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
using testing::HasSubstr;

namespace {

constexpr ClassId b = 0, s = 1, d = 2, e = 3, v = 4, g = 5, k = 6;

} // namespace

static TensorFacts parameter(std::vector<ClassId> dims,
                             std::vector<int64_t> shape, int64_t count) {
  TensorFacts tensor;
  tensor.kind = TensorFacts::Kind::Parameter;
  tensor.dims = std::move(dims);
  tensor.shape = std::move(shape);
  tensor.elementBytes = 2;
  tensor.count = count;
  tensor.isTrained = true;
  return tensor;
}

static ProgramFacts llama8b(int64_t batch) {
  ProgramFacts facts;
  facts.classes = {{{"b"}, batch}, {{"s"}, 8192},   {{"d"}, 4096},
                   {{"e"}, 14336}, {{"v"}, 128256}, {{"g", "h"}, 8},
                   {{"k"}, 128}};
  facts.layers = 32;
  facts.areLayersAlike = true;
  constexpr int64_t all = 32;
  TensorFacts table = parameter({v, d}, {128256, 4096}, 1), head = table,
              stream;
  table.lookedUp = {v};
  head.contracted = {d};
  stream.kind = TensorFacts::Kind::Boundary;
  stream.dims = {b, s, d};
  stream.shape = {batch, 8192, 4096};
  facts.tensors = {stream,
                   table,
                   head,
                   parameter({d}, {4096}, 1),
                   parameter({d}, {4096}, all),
                   parameter({d}, {4096}, all),
                   parameter({g, k, d}, {32, 128, 4096}, all),
                   parameter({g, k, d}, {8, 128, 4096}, all),
                   parameter({g, k, d}, {8, 128, 4096}, all),
                   parameter({d, g, k}, {4096, 32, 128}, all),
                   parameter({e, d}, {14336, 4096}, all),
                   parameter({e, d}, {14336, 4096}, all),
                   parameter({d, e}, {4096, 14336}, all)};
  TensorFacts query;
  query.kind = TensorFacts::Kind::Boundary;
  query.dims = {b, s, g, k};
  query.shape = {batch, 8192, 32, 128};
  facts.attentionTensors = {query};
  return facts;
}

static CandidateAxis tensorAxis(int64_t size, bool withSequence) {
  AxisUse use = {AxisRole::Model, std::nullopt, {e, v, g}, false, false};
  if (withSequence)
    use.activations = s;
  return {"tp", size, use};
}

static ProfiledMemory memoryOf(std::vector<CandidateAxis> axes,
                               const Settings &settings, int64_t batch,
                               bool hasState = true) {
  Candidate candidate;
  candidate.axes = std::move(axes);
  candidate.settings = settings;
  Profile megatron = llvm::cantFail(findProfile("megatron"));
  auto memory =
      memoryBy(megatron, candidate, llama8b(batch), TermNames(), hasState);
  EXPECT_TRUE(memory.has_value());
  return memory.value_or(ProfiledMemory());
}

/// Within 0.1 %: the formulas divide norms over tensor ranks, which have them
/// whole.
static void expectNear(int64_t bytes, double formula) {
  EXPECT_NEAR(double(bytes) / formula, 1, 1e-3) << bytes << " for " << formula;
}

static int64_t lasting(const ProfiledMemory &memory) {
  return memory.parameters + memory.gradients + memory.state;
}

// 8.03e9 parameters over 4 ranks; 6 + 12 / 2 bytes each.
TEST(Profile, DistributedOptimizer) {
  CandidateAxis dp = {"dp", 2, {AxisRole::Data, b, {}, false, true}};
  ProfiledMemory memory = memoryOf({dp, tensorAxis(4, true)}, {}, 2);
  expectNear(lasting(memory), 24090783744.0);
  expectNear(memory.activations, 9682567168.0);
}

// Without it 18 bytes each, whatever the number of data ranks.
TEST(Profile, WholeState) {
  CandidateAxis dp = {"dp", 2, {AxisRole::Data, b, {}, false, false}};
  ProfiledMemory memory = memoryOf({dp, tensorAxis(4, true)}, {}, 2);
  expectNear(lasting(memory), 18 * 2007565312.0);
  expectNear(memory.gradients, 4 * 2007565312.0);
  EXPECT_EQ(memoryOf({dp, tensorAxis(4, true)}, {}, 2, false).state, 0);
}

// A quarter of the layers and the embedding on the first stage, and min(p, m)
// micro-batches of all of them.
TEST(Profile, Stages) {
  CandidateAxis pp = {
      "pp", 4, {AxisRole::Stage, std::nullopt, {}, false, false}};
  auto with = [&](const Settings &settings) {
    return memoryOf({pp, tensorAxis(8, true)}, settings, settings.microBatches);
  };
  ProfiledMemory memory = with({8, "none", "1f1b"});
  expectNear(lasting(memory), 18 * 283779200.0);
  expectNear(memory.activations, 4311777280.0);
  expectNear(with({2, "none", "1f1b"}).activations, 4311777280.0 / 2);
  expectNear(with({8, "none", "1f1b", 2}).activations, 5928693760.0);
}

// Without sequence parallelism: 10 + 24 / t, logits in 16 bits, 5 % besides.
TEST(Profile, WithoutSequenceParallelism) {
  expectNear(memoryOf({tensorAxis(4, false)}, {}, 1).activations,
             18696231321.6);
}

// Two bytes of a layer's width, and one layer that is recomputed.
TEST(Profile, FullRecomputation) {
  ProfiledMemory memory = memoryOf({tensorAxis(4, true)}, {1, "full"}, 1);
  double layer = 33554432.0 * 32, checkpoints = 2 * 33554432.0 * 32,
         ends = 65536 + 33554432.0, logits = 4336910336.0;
  expectNear(memory.activations, (checkpoints + ends + logits + layer) / 4);
}

// Blocks are rounded up; the allocator never reserves less than is allocated.
TEST(Profile, Reserves) {
  ProfiledMemory memory = memoryOf({tensorAxis(4, true)}, {}, 1);
  EXPECT_GT(memory.reserved, memory.allocated());
  EXPECT_LT(double(memory.reserved), 1.1 * double(memory.allocated()));
}

// No formula: parameters that are stored divided, and experts.
TEST(Profile, NoFormula) {
  Profile megatron = llvm::cantFail(findProfile("megatron"));
  Candidate candidate;
  candidate.axes = {{"fsdp", 2, {AxisRole::Data, b, {}, true, false}}};
  EXPECT_FALSE(memoryBy(megatron, candidate, llama8b(2), {}, true));
  ProgramFacts experts = llama8b(2);
  experts.classes[e].hasOwnParameters = true;
  EXPECT_FALSE(memoryBy(megatron, {}, experts, {}, true));
}

TEST(Profile, EveryFactHasItsSource) {
  for (const std::string &name : builtinProfiles()) {
    Profile profile = llvm::cantFail(findProfile(name));
    EXPECT_EQ(profile.name, name);
    for (const auto &[fact, value] : profile.facts)
      EXPECT_NE(value.source, "") << fact;
    for (const auto &[option, value] : profile.options)
      EXPECT_NE(value.source, "") << option;
    EXPECT_TRUE(!profile.hostMicroseconds ||
                !profile.hostMicroseconds->source.empty());
    EXPECT_FALSE(profile.options.empty());
  }
  EXPECT_THAT(
      llvm::toString(findProfile("none").takeError()),
      HasSubstr("is no built-in profile (deepspeed, megatron, nanotron, "
                "torch, torchtitan)"));
}

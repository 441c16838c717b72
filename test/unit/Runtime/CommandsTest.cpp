/// Every command survives encoding and decoding, and an array that is no
/// encoding is rejected.
#include "tpsp/Abi/Commands.h"
#include "tpsp/Abi/tpsp_rt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

using namespace tpsp::rt;

namespace {

MatmulCommand sampleMatmul() {
  MatmulCommand c;
  c.dtype = TPSP_RT_BF16;
  c.m = 5, c.n = 7, c.k = 11;
  c.lda = 13, c.ldb = 17, c.ldc = 19;
  c.transposeA = true;
  c.batch = {{2, 100, 0, 200}, {3, 0, 300, 400}};
  c.accumulate = {{4, 50, 60, 0}};
  return c;
}

GroupedMatmulCommand sampleGroupedMatmul() {
  GroupedMatmulCommand c;
  static_cast<MatmulForm &>(c) = sampleMatmul();
  c.dtype = TPSP_RT_F16;
  c.groups = 3, c.groupStride = 5000;
  c.idStrides = {5, 10, 0};
  c.firstGroup = {3, {1}, 0, 6};
  return c;
}

KernelCommand sampleKernel() {
  KernelCommand c;
  c.grid = 12;
  c.positions = {{64, {0, 2}, 3, 16}, {8, {}}};
  return c;
}

AttentionCommand sampleAttention() {
  AttentionCommand c;
  c.dtype = TPSP_RT_F16;
  c.batch = 2, c.heads = 3, c.groups = 4;
  c.queries = 5, c.keys = 7, c.features = 8, c.valueFeatures = 16;
  c.scale = 0.125;
  c.causal = true;
  c.keepsStatistic = true;
  c.queryStart = {5, {0, 2}, 3, 16};
  // Queries are b s h g d, keys b t h d, and values b h t e.
  c.q = {480, 32, 8, 96};
  c.k = {168, 8, 0, 24};
  c.v = {336, 112, 0, 16};
  c.o = {960, 64, 16, 192};
  c.window = 3;
  c.chunk = 4;
  c.softcap = 2.5;
  // The bias is h t s. Segments have rows of every batch.
  c.hasBias = true, c.hasSegments = true, c.hasLengths = true;
  c.bias.head = 35, c.bias.row = 1, c.bias.key = 5;
  c.querySegments = {5, 0, 0, 1};
  c.keySegments = {7, 0, 0, 1};
  // Lengths are h b.
  c.lengths = {1, 2};
  return c;
}

ShardCommand sampleShard() {
  ShardCommand c;
  c.dtype = TPSP_RT_F64;
  c.reduction = TPSP_RT_MAX;
  c.axes = {1, 0};
  c.outer = 3, c.chunk = 5, c.pitch = 8;
  c.others = {{1, 7, 0}, {2, 3, 4}};
  return c;
}

AllReduceCommand sampleAllReduce() {
  AllReduceCommand c;
  c.dtype = TPSP_RT_I32;
  c.reduction = TPSP_RT_MAX;
  c.axes = {2};
  c.counts = {1, 0, 99};
  return c;
}

AllToAllCommand sampleAllToAll() {
  AllToAllCommand c;
  c.dtype = TPSP_RT_I64;
  c.axes = {0};
  c.gatherFirst = false;
  c.a = 2, c.gather = 3, c.b = 4, c.scatter = 5, c.c = 6;
  return c;
}

PermuteCommand samplePermute() {
  PermuteCommand c;
  c.axes = {0};
  c.count = 9;
  c.source = {2, 0, 1};
  c.runs = 4, c.sourcePitch = 9, c.targetPitch = 12;
  return c;
}

EventCommand sampleEvent() {
  EventCommand c;
  c.event = 3;
  return c;
}

template <typename Command> bool decodes(const Params &params) {
  Command out;
  return decode(params.data(), int64_t(params.size()), out);
}

/// Checks that decoding gives fields that encode to the same integers, and that
/// one integer less or more is refused.
template <typename Command> void checkRoundTrip(const Command &command) {
  Params params = command.encode();
  Command out;
  ASSERT_TRUE(decode(params.data(), int64_t(params.size()), out));
  EXPECT_EQ(out.encode(), params);
  for (size_t length = 0; length < params.size(); ++length)
    EXPECT_FALSE(decodes<Command>({params.begin(), params.begin() + length}))
        << "cut to " << length;
  params.push_back(0);
  EXPECT_FALSE(decodes<Command>(params)) << "with one integer too many";
  EXPECT_FALSE(decode(nullptr, 0, out));
  EXPECT_FALSE(decode(params.data(), -1, out));
}

TEST(Commands, RoundTrip) {
  checkRoundTrip(sampleMatmul());
  checkRoundTrip(sampleGroupedMatmul());
  checkRoundTrip(sampleKernel());
  checkRoundTrip(sampleAttention());
  checkRoundTrip(sampleShard());
  checkRoundTrip(sampleAllReduce());
  checkRoundTrip(sampleAllToAll());
  checkRoundTrip(samplePermute());
  checkRoundTrip(sampleEvent());
}

TEST(Commands, DecodeKeepsEveryField) {
  Params params = sampleMatmul().encode();
  MatmulCommand m;
  ASSERT_TRUE(decode(params.data(), int64_t(params.size()), m));
  EXPECT_EQ(m.dtype, TPSP_RT_BF16);
  EXPECT_EQ(m.m, 5);
  EXPECT_EQ(m.n, 7);
  EXPECT_EQ(m.k, 11);
  EXPECT_EQ(m.lda, 13);
  EXPECT_EQ(m.ldb, 17);
  EXPECT_EQ(m.ldc, 19);
  EXPECT_TRUE(m.transposeA);
  EXPECT_FALSE(m.transposeB);
  ASSERT_EQ(m.batch.size(), 2u);
  EXPECT_EQ(m.batch[1].strideB, 300);
  ASSERT_EQ(m.accumulate.size(), 1u);
  EXPECT_EQ(m.accumulate[0].extent, 4);
}

TEST(Commands, DecodeKeepsEveryFieldOfGroupedMatmuls) {
  Params params = sampleGroupedMatmul().encode();
  GroupedMatmulCommand c;
  ASSERT_TRUE(decode(params.data(), int64_t(params.size()), c));
  EXPECT_EQ(c.dtype, TPSP_RT_F16);
  EXPECT_EQ(c.rows(), 5);
  EXPECT_EQ(c.groupStride, 5000);
  EXPECT_EQ(c.firstGroup.offset, 6);
  std::vector<BufferUse> uses = c.buffers(/*ranks=*/2);
  ASSERT_EQ(uses.size(), 4u);
  // The rows of B, the strides of steps and points, and the last matrix.
  EXPECT_EQ(uses[1].elements, 10 * 17 + 7 + 2 * 300 + 3 * 60 + 2 * 5000);
  EXPECT_EQ(uses[2].elements, 5 + 5 + 2 * 10);
  EXPECT_EQ(uses[2].dtype, TPSP_RT_I32);
  EXPECT_TRUE(uses[3].isWritten);
  c.sumsRows = true;
  EXPECT_EQ(c.buffers(2)[3].elements, uses[3].elements + 2 * 5000);
}

TEST(Commands, GroupedMatmulsThatAreNone) {
  auto refuses = [](auto change) {
    GroupedMatmulCommand c = sampleGroupedMatmul();
    change(c);
    EXPECT_FALSE(decodes<GroupedMatmulCommand>(c.encode()));
  };
  refuses([](GroupedMatmulCommand &c) { c.idStrides = {5, 10}; });
  refuses([](GroupedMatmulCommand &c) { c.idStrides[1] = -1; });
  refuses([](GroupedMatmulCommand &c) { c.dtype = TPSP_RT_I32; });
  refuses([](GroupedMatmulCommand &c) { c.groups = -1; });
  refuses([](GroupedMatmulCommand &c) { c.groupStride = maxElements; });
  refuses(
      [](GroupedMatmulCommand &c) { c.sumsRows = true, c.groupStride = 0; });
  refuses([](GroupedMatmulCommand &c) { c.ldb = 3; });
  refuses([](GroupedMatmulCommand &c) { c.firstGroup.axes = {1, 1}; });
}

TEST(Commands, DecodeKeepsEveryFieldOfAttention) {
  Params params = sampleAttention().encode();
  AttentionCommand c;
  ASSERT_TRUE(decode(params.data(), int64_t(params.size()), c));
  EXPECT_EQ(c.dtype, TPSP_RT_F16);
  EXPECT_EQ(c.numRows(), 2 * 3 * 4 * 5);
  EXPECT_EQ(c.keyElements(), 2 * 3 * 7 * 8);
  EXPECT_EQ(c.valueElements(), 2 * 3 * 7 * 16);
  EXPECT_EQ(c.scale, 0.125);
  EXPECT_TRUE(c.causal);
  EXPECT_TRUE(c.keepsStatistic);
  EXPECT_EQ(c.q.row, 96);
  EXPECT_EQ(c.k.head, 8);
  EXPECT_EQ(c.v.batch, 336);
  EXPECT_EQ(c.o.group, 16);
  EXPECT_EQ(c.window, 3);
  EXPECT_EQ(c.chunk, 4);
  EXPECT_EQ(c.queryStart.axes, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(c.queryStart.of(/*self=*/2, /*ranks=*/4), 1 * 5 + 16);
  EXPECT_EQ(c.softcap, 2.5);
  EXPECT_EQ(c.biasElements(), 3 * 5 * 7);
  EXPECT_EQ(c.bias.key, 5);
  EXPECT_EQ(c.querySegments.batch, 5);
  EXPECT_EQ(c.keySegments.row, 1);
  EXPECT_EQ(c.lengths.batch, 1);
  EXPECT_EQ(c.lengths.head, 2);
  ASSERT_EQ(c.buffers(1).size(), 9u);
  EXPECT_EQ(c.buffers(1).back().elements, 2 * 3);
}

TEST(Commands, AttentionHasLastKeys) {
  AttentionCommand c;
  c.queries = 5, c.keys = 7;
  EXPECT_EQ(c.keysBefore(0), 0);
  EXPECT_EQ(c.startAmongKeys(5), 5);
  c.hasLastKeys = true;
  EXPECT_EQ(c.keysBefore(0), 2);
  EXPECT_EQ(c.startAmongKeys(0), 0);
  EXPECT_EQ(c.keysBefore(1), 1);
  EXPECT_EQ(c.startAmongKeys(1), 1);
  EXPECT_EQ(c.keysBefore(5), 0);
  EXPECT_EQ(c.startAmongKeys(5), 2);
}

TEST(Commands, AttentionRefusesWhatIsNoMask) {
  auto refuses = [](auto change) {
    AttentionCommand c = sampleAttention();
    change(c);
    EXPECT_FALSE(decodes<AttentionCommand>(c.encode()));
  };
  refuses([](AttentionCommand &c) { c.causal = false; });
  refuses([](AttentionCommand &c) { c.causal = false, c.window = 0; });
  refuses([](AttentionCommand &c) { c.chunk = -1; });
  // Chunks count from the first key.
  refuses(
      [](AttentionCommand &c) { c.hasLengths = false, c.hasLastKeys = true; });
  refuses([](AttentionCommand &c) { c.queryStart.offset = -1; });
  refuses([](AttentionCommand &c) { c.queryStart.axes = {1, 1}; });
  // Lengths count from the first key.
  refuses([](AttentionCommand &c) { c.hasLastKeys = true; });
  refuses([](AttentionCommand &c) { c.window = -1; });
  refuses([](AttentionCommand &c) { c.softcap = -1; });
  refuses([](AttentionCommand &c) { c.bias.key = 4; });
  refuses([](AttentionCommand &c) { c.querySegments.batch = 6; });
  refuses([](AttentionCommand &c) { c.keySegments.group = 1; });
  refuses([](AttentionCommand &c) { c.lengths.head = 3; });
  AttentionGradientCommand gradient;
  static_cast<AttentionCommand &>(gradient) = sampleAttention();
  gradient.wantsBiasGradient = true;
  EXPECT_TRUE(decodes<AttentionGradientCommand>(gradient.encode()));
  gradient.hasBias = false;
  EXPECT_FALSE(decodes<AttentionGradientCommand>(gradient.encode()));
}

/// With a mask, the last rank's last query sees all keys. Without a mask all
/// queries do.
TEST(Commands, AttentionSeesKeysUpToItsLastQuery) {
  AttentionCommand c = sampleAttention();
  c.queries = 3, c.keys = 10;
  EXPECT_EQ(c.seenKeys(0), 3);
  EXPECT_EQ(c.seenKeys(6), 9);
  EXPECT_EQ(c.seenKeys(9), 10);
  c.causal = false;
  EXPECT_EQ(c.seenKeys(0), 10);
}

TEST(Commands, AttentionRefusesWhatIsNotDense) {
  auto refuses = [](auto change) {
    AttentionCommand c = sampleAttention();
    change(c);
    EXPECT_FALSE(decodes<AttentionCommand>(c.encode()));
  };
  refuses([](AttentionCommand &c) { c.q.row = 88; });
  refuses([](AttentionCommand &c) { c.k.head = 16; });
  refuses([](AttentionCommand &c) { c.o.group = 0; });
  refuses([](AttentionCommand &c) { c.features = 4; });
  refuses([](AttentionCommand &c) { c.keys = 0; });
  refuses([](AttentionCommand &c) { c.dtype = TPSP_RT_I32; });
  refuses([](AttentionCommand &c) { c.scale = NAN; });
  refuses([](AttentionCommand &c) {
    c.batch = c.heads = c.queries = int64_t(1) << 30;
  });
  AttentionCommand single = sampleAttention();
  single.groups = 1, single.q = {120, 8, 77, 24}, single.o = {240, 16, 3, 48};
  EXPECT_TRUE(decodes<AttentionCommand>(single.encode()));
}

TEST(Commands, MatmulRefusesOverlappingRows) {
  MatmulCommand c = sampleMatmul();
  c.lda = 4; // A is stored as rows of m = 5.
  EXPECT_FALSE(decodes<MatmulCommand>(c.encode()));
  c = sampleMatmul();
  c.ldc = 6;
  EXPECT_FALSE(decodes<MatmulCommand>(c.encode()));
  c.m = 1; // With one row the leading dimension has no effect.
  EXPECT_TRUE(decodes<MatmulCommand>(c.encode()));
}

TEST(Commands, MatmulRefusesEpiloguesThatThereAreNot) {
  using Step = EpilogueStep;
  MatmulCommand c;
  c.m = 2, c.n = 3, c.k = 4, c.lda = 4, c.ldb = 3, c.ldc = 3;
  for (std::vector<Step> steps : {std::vector<Step>{Step::Bias},
                                  {Step::Gelu},
                                  {Step::Bias, Step::Gelu},
                                  {Step::Keep, Step::Gelu},
                                  {Step::Bias, Step::Keep, Step::Gelu},
                                  {Step::Slope},
                                  {Step::SumA},
                                  {Step::SumB}}) {
    c.epilogue = steps;
    checkRoundTrip(c);
  }
  for (std::vector<Step> steps : {std::vector<Step>{Step::Keep},
                                  {Step::Bias, Step::Keep},
                                  {Step::Gelu, Step::Bias},
                                  {Step::Gelu, Step::Keep},
                                  {Step::Bias, Step::Bias},
                                  {Step::Bias, Step::Slope},
                                  {Step::Gelu, Step::Slope},
                                  {Step::SumA, Step::SumB},
                                  {Step::Bias, Step::SumA},
                                  {Step(numEpilogueSteps)},
                                  {Step(-1)}}) {
    c.epilogue = steps;
    EXPECT_FALSE(decodes<MatmulCommand>(c.encode()));
  }
}

TEST(Commands, SumsOfOperandsNeedASingleProduct) {
  MatmulCommand c;
  c.m = 2, c.n = 3, c.k = 4, c.lda = 4, c.ldb = 3, c.ldc = 3;
  c.epilogue = {EpilogueStep::SumB};
  c.batch = {{1, 0, 0, 0}};
  EXPECT_TRUE(decodes<MatmulCommand>(c.encode()));
  c.batch = {{2, 8, 12, 6}};
  EXPECT_FALSE(decodes<MatmulCommand>(c.encode()));
  c.batch = {};
  c.accumulate = {{2, 8, 12, 0}};
  EXPECT_FALSE(decodes<MatmulCommand>(c.encode()));
}

TEST(Commands, MatmulRefusesLoopsThatWriteTwice) {
  MatmulCommand c = sampleMatmul();
  c.batch[0].strideC = 0;
  EXPECT_FALSE(decodes<MatmulCommand>(c.encode()));
  c = sampleMatmul();
  c.accumulate[0].strideC = 1;
  EXPECT_FALSE(decodes<MatmulCommand>(c.encode()));
}

TEST(Commands, RefusesOverflow) {
  MatmulCommand matmul = sampleMatmul();
  matmul.batch[0].extent = int64_t(1) << 40;
  matmul.batch[0].strideC = int64_t(1) << 40;
  EXPECT_FALSE(decodes<MatmulCommand>(matmul.encode()));
  ShardCommand shard = sampleShard();
  shard.outer = shard.chunk = int64_t(1) << 33;
  EXPECT_FALSE(decodes<ShardCommand>(shard.encode()));
  AllToAllCommand exchange = sampleAllToAll();
  exchange.a = exchange.c = int64_t(1) << 40;
  exchange.b = 0; // A 0 must not hide the overflow of the others' product.
  EXPECT_FALSE(decodes<AllToAllCommand>(exchange.encode()));
}

TEST(Commands, RefusesNegativeAndUnknown) {
  ShardCommand c = sampleShard();
  c.outer = -1;
  EXPECT_FALSE(decodes<ShardCommand>(c.encode()));
  c = sampleShard();
  c.dtype = TPSP_RT_F16 + 1;
  EXPECT_FALSE(decodes<ShardCommand>(c.encode()));
  c = sampleShard();
  c.reduction = 2;
  EXPECT_FALSE(decodes<ShardCommand>(c.encode()));
}

TEST(Commands, ASliceIsOfOneTensor) {
  SliceCommand slice;
  EXPECT_TRUE(decodes<SliceCommand>(slice.encode()));
  slice.others = {{1, 1, 0}};
  EXPECT_FALSE(decodes<SliceCommand>(slice.encode()));
}

TEST(Commands, RefusesRepeatedAxes) {
  ShardCommand c = sampleShard();
  c.axes = {1, 1};
  EXPECT_FALSE(decodes<ShardCommand>(c.encode()));
}

TEST(Commands, PermuteRefusesWhatIsNoPermutation) {
  PermuteCommand c = samplePermute();
  c.source = {0, 0, 1};
  EXPECT_FALSE(decodes<PermuteCommand>(c.encode()));
  c.source = {0, 1, 3};
  EXPECT_FALSE(decodes<PermuteCommand>(c.encode()));
}

TEST(Commands, PitchesKeepRunsApart) {
  ShardCommand shard = sampleShard();
  EXPECT_EQ(shard.runPitch(), 8);
  EXPECT_EQ(shard.span(), 2 * 8 + 5);
  shard.pitch = 4; // Runs of 5.
  EXPECT_FALSE(decodes<ShardCommand>(shard.encode()));
  shard.pitch = -8;
  EXPECT_FALSE(decodes<ShardCommand>(shard.encode()));
  shard.pitch = INT64_MAX;
  EXPECT_FALSE(decodes<ShardCommand>(shard.encode()));
  shard.pitch = 0;           // Dense.
  shard.others[1].pitch = 2; // Runs of 3.
  EXPECT_FALSE(decodes<ShardCommand>(shard.encode()));
  shard.others.clear();
  EXPECT_TRUE(decodes<ShardCommand>(shard.encode()));
  EXPECT_EQ(shard.runPitch(), 5);
  EXPECT_EQ(shard.span(), 15);

  PermuteCommand permute = samplePermute();
  EXPECT_EQ(permute.sourceSpan(), 36);
  EXPECT_EQ(permute.targetSpan(), 3 * 12 + 9);
  for (int64_t PermuteCommand::*pitch :
       {&PermuteCommand::sourcePitch, &PermuteCommand::targetPitch})
    for (int64_t bad : {int64_t(8), int64_t(-9), INT64_MAX}) {
      permute = samplePermute();
      permute.*pitch = bad;
      EXPECT_FALSE(decodes<PermuteCommand>(permute.encode())) << bad;
    }
  permute.runs = 1; // With one run pitches have no effect.
  permute.sourcePitch = permute.targetPitch = 0;
  EXPECT_TRUE(decodes<PermuteCommand>(permute.encode()));
  EXPECT_EQ(permute.targetSpan(), 9);
}

TEST(Commands, AllReduceRefusesNoTensors) {
  AllReduceCommand c = sampleAllReduce();
  c.counts.clear();
  EXPECT_FALSE(decodes<AllReduceCommand>(c.encode()));
}

/// Checks that integers which decode encode to the same again, so that none was
/// ignored.
template <typename Command> void checkGarbage(const Params &params) {
  Command out;
  if (decode(params.data(), int64_t(params.size()), out)) {
    EXPECT_EQ(out.encode(), params);
  }
}

TEST(Commands, FuzzedArraysNeitherCrashNorLie) {
  const char *given = std::getenv("TPSP_TEST_SEED");
  unsigned seed = given ? std::atoi(given) : std::random_device()();
  SCOPED_TRACE("TPSP_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<Params> samples = {
      sampleMatmul().encode(),   sampleKernel().encode(),
      sampleShard().encode(),    sampleAllReduce().encode(),
      sampleAllToAll().encode(), samplePermute().encode(),
      sampleEvent().encode()};
  const int64_t extremes[] = {
      -1, 0, 1, 2, 3, 1 << 20, int64_t(1) << 40, INT64_MAX, INT64_MIN};
  for (int round = 0; round < 20000; ++round) {
    Params params = samples[random() % samples.size()];
    for (size_t edits = random() % 4; edits-- > 0;)
      params[random() % params.size()] = extremes[random() % 9];
    params.resize(random() % 3 ? params.size() : random() % 24);
    checkGarbage<MatmulCommand>(params);
    checkGarbage<KernelCommand>(params);
    checkGarbage<ShardCommand>(params);
    checkGarbage<AllReduceCommand>(params);
    checkGarbage<AllToAllCommand>(params);
    checkGarbage<PermuteCommand>(params);
    checkGarbage<EventCommand>(params);
  }
}

} // namespace

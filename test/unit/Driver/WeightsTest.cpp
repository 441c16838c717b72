/// Parameters in files: the same bits on every mesh, and files that do not fit.
#include "tpsp/Runtime/Driver/Tensors/Weights.h"

#include "TestFiles.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/BuiltinBackends.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

using namespace tpsp;
using namespace tpsp::rt;
using testing::HasSubstr;
using Axes = std::vector<std::vector<int64_t>>;
using Kind = BufferKind;

namespace {

/// Adds a tensor after the others.
void add(Plan &plan, const std::string &name, int64_t dtype,
         std::vector<int64_t> shape, Axes axes, Kind kind = Kind::Parameter) {
  PlanBuffer tensor;
  tensor.name = name;
  tensor.kind = kind;
  tensor.shape = std::move(shape);
  tensor.axes = std::move(axes);
  tensor.dtype = dtype;
  tensor.offset = plan.arenaBytes;
  tensor.bytes = elementBytes(dtype);
  for (int64_t extent : tensor.shape)
    tensor.bytes *= extent;
  for (const auto &list : tensor.axes)
    for (int64_t axis : list)
      tensor.bytes /= plan.mesh[axis].size;
  plan.arenaBytes += (tensor.bytes + 63) / 64 * 64;
  plan.buffers.push_back(tensor);
}

/// Returns the same parameters under several meshes and shardings.
std::vector<Plan> plans(int64_t dtype) {
  struct Case {
    std::vector<MeshAxis> mesh;
    Axes matrix, vector, cube;
  };
  const Case cases[] = {
      {{}, {{}, {}}, {{}}, {{}, {}, {}}},
      {{{"tp", 4}}, {{0}, {}}, {{}}, {{}, {}, {0}}},
      {{{"tp", 2}}, {{}, {0}}, {{0}}, {{}, {0}, {}}},
      {{{"dp", 2}, {"tp", 2}}, {{1, 0}, {}}, {{1}}, {{}, {1}, {0}}},
      {{{"dp", 3}, {"tp", 2}}, {{}, {1}}, {{}}, {{}, {0, 1}, {}}},
  };
  std::vector<Plan> result;
  for (const Case &c : cases) {
    Plan plan;
    plan.mesh = c.mesh;
    add(plan, "x", TPSP_RT_F32, {4}, {{}}, Kind::Input);
    add(plan, "z.matrix", dtype, {8, 6}, c.matrix);
    add(plan, "vector", TPSP_RT_F32, {12}, c.vector);
    add(plan, "cube", dtype, {2, 12, 4}, c.cube);
    add(plan, "scalar", dtype, {}, {});
    result.push_back(plan);
  }
  return result;
}

class WeightsTest : public TestFiles {
protected:
  WeightsTest() { registerBuiltinBackends(); }

  std::unique_ptr<World> makeWorld(const Plan &plan,
                                   const TensorSource &source) const {
    WorldConfig config;
    config.mesh = plan.mesh;
    config.arenaBytes = plan.arenaBytes;
    std::unique_ptr<World> world;
    Status status = World::create(config, world);
    if (status.ok())
      status = world->run([&](Rank &rank) -> Status {
        std::memset(rank.hostAddress(0), 0xff, plan.arenaBytes);
        for (const PlanBuffer &tensor : plan.tensors())
          if (Status s = source.fill(
                  tensor, Shard(tensor, plan.mesh, rank.coordinates()),
                  rank.hostAddress(*tensor.offset));
              !s.ok())
            return s;
        return {};
      });
    EXPECT_TRUE(status.ok()) << status.message();
    return world;
  }

  std::string save(const Plan &plan, const TensorSource &source,
                   const std::string &name) const {
    auto world = makeWorld(plan, source);
    Status status = saveTensors(*world, plan, path(name));
    EXPECT_TRUE(status.ok()) << status.message();
    return path(name);
  }

  /// Returns a source of the file's parameters. Inputs are random.
  std::unique_ptr<WeightsSource> open(const std::string &at,
                                      const Plan &plan) const {
    auto source =
        std::make_unique<WeightsSource>(std::make_unique<RandomSource>(7));
    std::string warning;
    Status status = source->open(at, plan, warning);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(warning, "");
    return source;
  }

  void checkConversions(int64_t dtype);
};

TEST_F(WeightsTest, AFileDoesNotDependOnTheMesh) {
  for (int64_t dtype : {TPSP_RT_F32, TPSP_RT_BF16, TPSP_RT_F16}) {
    std::vector<Plan> all = plans(dtype);
    save(all[0], RandomSource(3), "first");
    for (const Plan &from : all) {
      std::string file = save(from, RandomSource(3), "from");
      EXPECT_EQ(read("from"), read("first"));
      for (const Plan &to : all) {
        save(to, *open(file, to), "to");
        EXPECT_EQ(read("to"), read("first"));
      }
    }
  }
}

/// Returns the parameters of `plan` whose names come before `bound`, or the
/// others.
static Plan half(Plan plan, const std::string &bound, bool before) {
  auto &tensors = plan.buffers;
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(),
                               [&](const PlanBuffer &tensor) {
                                 return (tensor.name < bound) != before;
                               }),
                tensors.end());
  return plan;
}

TEST_F(WeightsTest, AnIndexStandsForItsFiles) {
  std::vector<Plan> all = plans(TPSP_RT_BF16);
  save(all[0], RandomSource(3), "whole");
  save(half(all[2], "s", true), RandomSource(3), "1.safetensors");
  save(half(all[3], "s", false), RandomSource(3), "2.safetensors");
  std::string index = write("model.safetensors.index.json", R"({
    "metadata": {"total_size": 12},
    "weight_map": {"cube": "1.safetensors", "scalar": "2.safetensors",
                   "vector": "2.safetensors", "z.matrix": "2.safetensors"}})");
  for (const Plan &to : all) {
    save(to, *open(index, to), "to");
    EXPECT_EQ(read("to"), read("whole"));
  }
}

TEST_F(WeightsTest, AnIndexThatDoesNotFitIsRefused) {
  const Plan plan = plans(TPSP_RT_BF16)[0];
  save(half(plan, "s", true), RandomSource(3), "1.safetensors");
  auto refusal = [&](const std::string &map) {
    WeightsSource source(std::make_unique<RandomSource>(7));
    std::string warning;
    return source.open(write("i.json", map), plan, warning).message();
  };
  EXPECT_THAT(refusal(R"({"weight_map": {"cube": "1.safetensors"}})"),
              HasSubstr("'scalar' is missing"));
  EXPECT_THAT(refusal(R"({"weight_map": {"cube": "2.safetensors"}})"),
              HasSubstr("2.safetensors': No such file"));
  EXPECT_THAT(refusal(R"({"weight_map": {"vector": "1.safetensors"}})"),
              HasSubstr("lacks tensors that the index says it has: 'vector'"));
  for (const char *elsewhere : {"../1.safetensors", "/etc/passwd", "", ".."})
    EXPECT_THAT(refusal(R"({"weight_map": {"cube": ")" +
                        std::string(elsewhere) + "\"}}"),
                HasSubstr("not one beside it"))
        << elsewhere;
  EXPECT_THAT(refusal(R"({"weight_map": {"cube": 12}})"),
              HasSubstr("is no name"));
  EXPECT_THAT(refusal(R"({"weights": {}, "more": 1})"),
              HasSubstr("nor an index"));
  EXPECT_THAT(refusal(R"({"weight_map": )"), HasSubstr("nor an index"));
}

TEST_F(WeightsTest, TheWholeTensorIsWhatRanksHold) {
  Plan plan = plans(TPSP_RT_BF16)[0];
  RandomSource random(3);
  auto source = open(save(plan, random, "f"), plan);
  for (const PlanBuffer &tensor : plan.tensors()) {
    std::vector<double> wanted, found;
    EXPECT_TRUE((tensor.kind == Kind::Input ? RandomSource(7) : random)
                    .whole(tensor, wanted)
                    .ok());
    EXPECT_TRUE(source->whole(tensor, found).ok());
    EXPECT_EQ(found, wanted) << tensor.name;
  }
}

TEST_F(WeightsTest, TypesAreConverted) {
  for (const HalfFloat &half : halfFloats)
    checkConversions(half.dtype);
}

void WeightsTest::checkConversions(int64_t dtype) {
  const std::vector<Plan> wide = plans(TPSP_RT_F32), narrow = plans(dtype),
                          f64 = plans(TPSP_RT_F64);
  // Parameters from f32 are rounded in the same way as random data.
  std::string file = save(wide[1], RandomSource(3), "wide");
  save(narrow[2], *open(file, narrow[2]), "rounded");
  save(narrow[0], RandomSource(3), "narrow");
  EXPECT_EQ(read("rounded"), read("narrow"));
  // Conversion to f32 or f64 and back is exact.
  file = save(wide[3], *open(path("narrow"), wide[3]), "widened");
  save(narrow[4], *open(file, narrow[4]), "back");
  EXPECT_EQ(read("back"), read("narrow"));
  auto world = makeWorld(f64[0], *open(path("narrow"), f64[0]));
  std::vector<double> cube;
  const PlanBuffer &tensor = f64[0].buffers[3];
  EXPECT_TRUE(RandomSource(3).whole(narrow[0].buffers[3], cube).ok());
  Status status = world->run([&](Rank &rank) -> Status {
    EXPECT_EQ(std::memcmp(rank.hostAddress(*tensor.offset), cube.data(),
                          tensor.bytes),
              0);
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(WeightsTest, EveryBitPatternComesBack) {
  // The data has NaNs with payloads, infinities, both zeros and subnormal
  // numbers.
  Plan plan;
  plan.mesh = {{"tp", 4}};
  add(plan, "f", TPSP_RT_F32, {64}, {{0}});
  add(plan, "b", TPSP_RT_BF16, {1 << 16}, {{0}});
  add(plan, "h", TPSP_RT_F16, {1 << 16}, {{0}});
  auto world = makeWorld(plan, RandomSource(0));
  Status status = world->run([&](Rank &rank) -> Status {
    auto *f =
        static_cast<uint32_t *>(rank.hostAddress(*plan.buffers[0].offset));
    auto *b =
        static_cast<uint16_t *>(rank.hostAddress(*plan.buffers[1].offset));
    for (int64_t i = 0; i < 16; ++i)
      f[i] = 0x7f800000u + uint32_t((rank.number() * 16 + i) * 0x04030201);
    auto *h =
        static_cast<uint16_t *>(rank.hostAddress(*plan.buffers[2].offset));
    for (int64_t i = 0; i < 1 << 14; ++i)
      b[i] = h[i] = uint16_t(rank.number() << 14 | i);
    return {};
  });
  ASSERT_TRUE(status.ok());
  ASSERT_TRUE(saveTensors(*world, plan, path("f")).ok());
  auto again = makeWorld(plan, *open(path("f"), plan));
  ASSERT_TRUE(saveTensors(*again, plan, path("g")).ok());
  EXPECT_EQ(read("g"), read("f"));
}

TEST_F(WeightsTest, WhatDoesNotFitIsOneError) {
  Plan saved, wanted;
  add(saved, "a", TPSP_RT_F32, {2, 3}, {{}, {}});
  add(saved, "extra", TPSP_RT_F32, {4}, {{}});
  save(saved, RandomSource(0), "f");
  add(wanted, "a", TPSP_RT_F32, {3, 2}, {{}, {}});
  add(wanted, "b", TPSP_RT_BF16, {5}, {{}});
  WeightsSource source(std::make_unique<RandomSource>(0));
  std::string warning;
  Status status = source.open(path("f"), wanted, warning);
  EXPECT_EQ(status.message(), "'" + path("f") +
                                  "' does not fit the program: 'a' is [2, 3], "
                                  "not [3, 2]; 'b' is missing, bf16 of [5]");
  EXPECT_EQ(warning, "'" + path("f") +
                         "' has tensors that the program does not take: "
                         "'extra'");
  for (int i = 0; i < 9; ++i)
    add(wanted, "c" + std::to_string(i), TPSP_RT_F32, {}, {});
  EXPECT_THAT(source.open(path("f"), wanted, warning).message(),
              HasSubstr("'c2' is missing, f32 of [] and 6 more"));
}

TEST_F(WeightsTest, ShapesThatWereMergedOrSplitSayWhatToDeclare) {
  Plan saved, wanted;
  add(saved, "merged", TPSP_RT_F32, {64, 6}, {{}, {}});
  add(saved, "split", TPSP_RT_F32, {2, 3, 5}, {{}, {}, {}});
  add(saved, "turned", TPSP_RT_F32, {2, 3}, {{}, {}});
  save(saved, RandomSource(0), "f");
  add(wanted, "merged", TPSP_RT_F32, {4, 16, 6}, {{}, {}, {}});
  add(wanted, "split", TPSP_RT_F32, {6, 5}, {{}, {}});
  add(wanted, "turned", TPSP_RT_F32, {3, 2}, {{}, {}});
  WeightsSource source(std::make_unique<RandomSource>(0));
  std::string warning;
  EXPECT_EQ(source.open(path("f"), wanted, warning).message(),
            "'" + path("f") +
                "' does not fit the program: 'merged' is [64, 6], not [4, 16, "
                "6]: declare it [64, 6] and split it (tpsp.split); 'split' is "
                "[2, 3, 5], not [6, 5]: declare it [2, 3, 5] and merge it "
                "(tpsp.merge); 'turned' is [2, 3], not [3, 2]");
}

TEST_F(WeightsTest, InputsInAFileAreNotReadAndThatIsSaid) {
  Plan saved, wanted;
  add(saved, "w", TPSP_RT_F32, {2}, {{}});
  add(saved, "x", TPSP_RT_F32, {3}, {{}});
  save(saved, RandomSource(0), "f");
  add(wanted, "w", TPSP_RT_F32, {2}, {{}});
  add(wanted, "x", TPSP_RT_F32, {3}, {{}}, Kind::Input);
  WeightsSource source(std::make_unique<RandomSource>(0));
  std::string warning;
  ASSERT_TRUE(source.open(path("f"), wanted, warning).ok());
  EXPECT_EQ(warning, "'x' of '" + path("f") +
                         "' is an input, which --weights does not give; give "
                         "it with --inputs");
  ASSERT_TRUE(source.open(path("f"), wanted, warning, {"x"}).ok());
  EXPECT_EQ(warning, "");
}

TEST_F(WeightsTest, ParametersFromElsewhereNeedNotBeThere) {
  Plan saved, wanted;
  add(saved, "w", TPSP_RT_F32, {2}, {{}});
  save(saved, RandomSource(0), "f");
  add(wanted, "w", TPSP_RT_F32, {3}, {{}});
  add(wanted, "v", TPSP_RT_F32, {3}, {{}});
  WeightsSource source(std::make_unique<RandomSource>(0));
  std::string warning;
  EXPECT_TRUE(source.open(path("f"), wanted, warning, {"v", "w"}).ok());
  EXPECT_EQ(warning, "");
}

/// Conversion from one type of 16 bits to the other rounds once, via f32.
TEST_F(WeightsTest, HalvesOfTheOtherKindAreRounded) {
  Plan bf16, f16, f32;
  add(bf16, "w", TPSP_RT_BF16, {3, 5}, {{}, {}});
  add(f16, "w", TPSP_RT_F16, {3, 5}, {{}, {}});
  add(f32, "w", TPSP_RT_F32, {3, 5}, {{}, {}});
  std::string file = save(bf16, RandomSource(3), "bf16");
  save(f16, *open(file, f16), "direct");
  std::string wide = save(f32, *open(file, f32), "f32");
  save(f16, *open(wide, f16), "through");
  EXPECT_EQ(read("direct"), read("through"));
  EXPECT_NE(read("direct"), read("bf16"));
}

TEST_F(WeightsTest, OtherTypesAreRefused) {
  std::string header =
      R"({"w":{"dtype":"I16","shape":[],"data_offsets":[0,2]},)"
      R"("v":{"dtype":"I64","shape":[],"data_offsets":[2,10]}})";
  uint64_t length = header.size();
  std::string prefix(reinterpret_cast<const char *>(&length), sizeof length);
  write("f", prefix + header + std::string(10, '\0'));
  Plan plan;
  add(plan, "w", TPSP_RT_F32, {}, {});
  add(plan, "v", TPSP_RT_F64, {}, {});
  WeightsSource source(std::make_unique<RandomSource>(0));
  std::string warning;
  std::string message = source.open(path("f"), plan, warning).message();
  EXPECT_THAT(message, HasSubstr("'w' is 'I16', which is not read"));
  EXPECT_THAT(message, HasSubstr("'v' is 'I64', which is not read"));
}

TEST_F(WeightsTest, WhatCannotBeSavedIsSaid) {
  Plan masks, twice;
  add(masks, "w", TPSP_RT_I8, {}, {});
  EXPECT_THAT(checkSavable(masks).message(), HasSubstr("parameter 'w' is i8"));
  add(twice, "w", TPSP_RT_F32, {}, {});
  add(twice, "w", TPSP_RT_F32, {2}, {{}});
  EXPECT_THAT(checkSavable(twice).message(),
              HasSubstr("two parameters are called 'w'"));
}

/// Every rank has the same summand. So the sum is that times the number of
/// ranks along the pending axes; along other axes ranks have replicas.
TEST_F(WeightsTest, WhatIsPartialIsSavedComplete) {
  for (bool isMaximum : {false, true})
    for (int64_t dtype : {TPSP_RT_F32, TPSP_RT_BF16, TPSP_RT_I32}) {
      Plan partial, whole;
      partial.mesh = {{"dp", 3}, {"tp", 4}, {"cp", 2}};
      add(partial, "y", dtype, {6, 2}, {{0}, {}}, Kind::Output);
      partial.buffers[0].pending = {1};
      partial.buffers[0].pendingMax = isMaximum;
      add(whole, "y", dtype, {6, 2}, {{}, {}}, Kind::Output);
      auto world = makeWorld(partial, RandomSource(5));
      auto one = makeWorld(whole, RandomSource(5));
      ASSERT_TRUE(
          saveTensors(*world, partial, path("partial"), SavedTensors::All)
              .ok());
      auto scale = [&](Rank &rank) -> Status {
        void *values = rank.hostAddress(0);
        for (int64_t i = 0; i < 12 && !isMaximum; ++i)
          if (isInteger(dtype))
            storeInteger(4 * loadInteger(values, dtype, i), dtype, values, i);
          else
            storeFloat(4 * loadFloat(values, dtype, i), dtype, values, i);
        return {};
      };
      ASSERT_TRUE(one->run(scale).ok());
      ASSERT_TRUE(
          saveTensors(*one, whole, path("whole"), SavedTensors::All).ok());
      EXPECT_EQ(read("partial"), read("whole"));
    }
}

TEST_F(WeightsTest, AFailedSaveLeavesTheWorldUsable) {
  Plan plan = plans(TPSP_RT_F32)[1];
  auto world = makeWorld(plan, RandomSource(0));
  EXPECT_THAT(saveTensors(*world, plan, path("none/f")).message(),
              HasSubstr("No such file or directory"));
  EXPECT_TRUE(saveTensors(*world, plan, path("f")).ok());
}

} // namespace

/// Arguments from files: their bits on every rank, and files that do not fit.
#include "tpsp/Runtime/Driver/Tensors/Inputs.h"

#include "TestFiles.h"
#include "TestNpy.h"
#include "TestTensor.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Tensors/RandomData.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = BufferKind;

namespace {

const std::vector<MeshAxis> mesh = {{"dp", 2}, {"tp", 3}};

/// ids [4, 6] in [0, 100), w [6, 4] and the cotangent of a loss.
Plan plan(int64_t dtype = TPSP_RT_F32) {
  Plan result;
  result.mesh = mesh;
  PlanBuffer ids = testTensor(mesh, {4, 6}, {{0}, {1}});
  ids.name = "ids";
  ids.dtype = TPSP_RT_I32;
  ids.below = 100;
  PlanBuffer w = testTensor(mesh, {6, 4}, {{1}, {0}});
  w.name = "w";
  w.kind = Kind::Parameter;
  w.dtype = dtype;
  PlanBuffer cotangent = testTensor(mesh, {}, {});
  cotangent.name = "g[loss]";
  cotangent.of = 0;
  result.buffers = {ids, w, cotangent};
  return result;
}

template <typename T> std::vector<T> ramp(size_t n, T step) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = T(double(i) * step);
  return values;
}

class InputsTest : public TestFiles {
protected:
  std::string writeTensor(const std::string &name, const std::string &dtype,
                          const std::string &tensor, std::vector<int64_t> shape,
                          const std::string &bytes) const {
    std::unique_ptr<SafetensorsWriter> writer;
    Status status = SafetensorsWriter::create(
        path(name), {{tensor, dtype, std::move(shape), 0, 0}}, writer);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(
        writer->write(writer->tensors()[0], 0, bytes.data(), bytes.size())
            .ok());
    EXPECT_TRUE(writer->finish().ok());
    return path(name);
  }

  /// Opens valid files.
  void open(InputsSource &source, const std::vector<std::string> &files,
            const Plan &program) const {
    Status status = source.open(files, program);
    EXPECT_TRUE(status.ok()) << status.message();
    source.setOthers(std::make_unique<RandomSource>(7));
  }
  std::string problemOf(const std::vector<std::string> &files) const {
    return InputsSource().open(files, plan()).message();
  }

  /// Checks that every rank's part of a tensor, and the whole, have these
  /// values.
  void check(const InputsSource &source, const PlanBuffer &tensor,
             const std::vector<double> &values) const;
};

void InputsTest::check(const InputsSource &source, const PlanBuffer &tensor,
                       const std::vector<double> &values) const {
  std::vector<double> whole;
  ASSERT_TRUE(source.whole(tensor, whole).ok());
  EXPECT_EQ(whole, values);
  for (const auto &coordinates : allCoordinates(mesh)) {
    Shard shard(tensor, mesh, coordinates);
    std::vector<char> memory(shard.elements() * 8);
    ASSERT_TRUE(source.fill(tensor, shard, memory.data()).ok());
    shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(
            isInteger(tensor.dtype)
                ? double(loadInteger(memory.data(), tensor.dtype, local + i))
                : loadFloat(memory.data(), tensor.dtype, local + i),
            values[global + i]);
    });
  }
}

TEST_F(InputsTest, EveryRankGetsItsPartOfIntegers) {
  std::vector<double> values = ramp(24, 4.0);
  for (auto [descr, bytes] :
       {std::pair("<i4", bytesOf(ramp<int32_t>(24, 4))),
        std::pair("<i8", bytesOf(ramp<int64_t>(24, 4)))}) {
    InputsSource source;
    open(source, {write("ids.npy", npy(descr, "(4, 6)", bytes))}, plan());
    check(source, plan().buffers[0], values);
  }
}

TEST_F(InputsTest, FloatsAreConverted) {
  std::vector<double> values = ramp(24, 0.1);
  std::vector<float> narrow(values.begin(), values.end());
  std::vector<uint16_t> half(24), brain(24);
  std::transform(narrow.begin(), narrow.end(), half.begin(), floatToF16);
  std::transform(narrow.begin(), narrow.end(), brain.begin(), floatToBf16);
  for (auto [type, bytes] :
       {std::pair("F64", bytesOf(values)), std::pair("F32", bytesOf(narrow)),
        std::pair("F16", bytesOf(half)), std::pair("BF16", bytesOf(brain))})
    for (int64_t dtype :
         {TPSP_RT_F64, TPSP_RT_F32, TPSP_RT_F16, TPSP_RT_BF16}) {
      Plan program = plan(dtype);
      InputsSource source;
      open(source, {writeTensor("f", type, "w", {6, 4}, bytes)}, program);
      std::vector<double> expected(24);
      for (size_t i = 0; i < 24; ++i) {
        double cell = 0;
        storeFloat(loadFloat(bytes.data(), *elementTypeOf(type), i), dtype,
                   &cell, 0);
        expected[i] = loadFloat(&cell, dtype, 0);
      }
      check(source, program.buffers[1], expected);
    }
}

TEST_F(InputsTest, InputsOfNumbersMayBeIntegers) {
  Plan program = plan();
  program.buffers[1].kind = BufferKind::Input;
  for (auto [descr, bytes] :
       {std::pair("<i4", bytesOf(ramp<int32_t>(24, 4))),
        std::pair("<i8", bytesOf(ramp<int64_t>(24, 4)))}) {
    InputsSource source;
    open(source, {write("w.npy", npy(descr, "(6, 4)", bytes))}, program);
    check(source, program.buffers[1], ramp(24, 4.0));
  }
}

TEST_F(InputsTest, WhatNoFileGivesComesFromElsewhere) {
  InputsSource source;
  Plan program = plan();
  std::string one = npy("<f4", "()", bytesOf<float>({2.5}));
  open(source, {"g[loss]=" + write("g.npy", one)}, program);
  EXPECT_THAT(source.given(), ElementsAre("g[loss]"));
  EXPECT_FALSE(source.isGiven(program.buffers[0]));
  check(source, program.buffers[0],
        RandomTensor(program.buffers[0], 7).whole());
}

TEST_F(InputsTest, AnArrayIsCalledAsItsFileOrAsSaid) {
  std::string file = write("f.npy", npy("<f4", "()", bytesOf<float>({2.5})));
  InputsSource source;
  open(source, {"g[loss]=" + file}, plan());
  check(source, plan().buffers[2], {2.5});
  EXPECT_TRUE(source.isGiven(plan().buffers[2]));
  EXPECT_THAT(problemOf({file}), HasSubstr("f.npy' gives 'f', which"));
}

TEST_F(InputsTest, APathMayHaveAnEqualsSign) {
  std::string file = write("run=3.npy", "");
  EXPECT_EQ(parseInputsFile(file).path, file);
  EXPECT_EQ(parseInputsFile(file).name, "");
  EXPECT_EQ(parseInputsFile("x=" + file).path, file);
  EXPECT_EQ(parseInputsFile("x=" + file).name, "x");
}

TEST_F(InputsTest, NamesThatNothingTakesAreRefusedWithThoseThatAre) {
  EXPECT_THAT(
      problemOf({writeTensor("f", "I32", "idz", {1}, "1234")}),
      HasSubstr("f' gives 'idz', which the program does not take; it takes "
                "'ids' (i32 of [4, 6]), 'g[loss]' (f32 of []), 'w' (f32 of "
                "[6, 4])"));
}

TEST_F(InputsTest, ShapesAndTypesAreRefused) {
  std::string zeros(24 * 8, 0);
  EXPECT_THAT(
      problemOf({write("ids.npy", npy("<f4", "(4, 6)", zeros.substr(96)))}),
      HasSubstr("ids.npy' does not fit the program: 'ids' is 'f32', and i32 "
                "is taken from i32 and i64"));
  EXPECT_THAT(
      problemOf({write("w.npy", npy("<i8", "(6, 4)", zeros))}),
      HasSubstr("'w' is 'i64', and f32 is taken from f32, f64, bf16 and f16"));
  EXPECT_THAT(
      problemOf({writeTensor("u", "U8", "w", {6, 4}, zeros.substr(0, 24))}),
      HasSubstr("'w' is 'U8', and f32 is taken from"));
  EXPECT_THAT(
      problemOf({write("w.npy", npy("<f4", "(4, 6)", zeros.substr(96)))}),
      HasSubstr("'w' is [4, 6], not [6, 4]"));
}

TEST_F(InputsTest, IntegersOutOfRangeAreRefused) {
  std::vector<int64_t> values(24, 99);
  for (int64_t wrong : {int64_t(100), int64_t(-1), int64_t(1) << 33}) {
    values[17] = wrong;
    EXPECT_THAT(
        problemOf({write("ids.npy", npy("<i8", "(4, 6)", bytesOf(values)))}),
        HasSubstr("ids.npy': element 17 of 'ids' is " + std::to_string(wrong) +
                  ", and its integers are from 0 to 99"));
  }
  Plan unbounded = plan();
  unbounded.buffers[0].below = 0;
  values[17] = -5;
  std::string file = write("ids.npy", npy("<i8", "(4, 6)", bytesOf(values)));
  EXPECT_TRUE(InputsSource().open({file}, unbounded).ok());
  values[17] = int64_t(1) << 31;
  write("ids.npy", npy("<i8", "(4, 6)", bytesOf(values)));
  EXPECT_THAT(InputsSource().open({file}, unbounded).message(),
              HasSubstr("is 2147483648, and its integers are from -2147483648 "
                        "to 2147483647"));
}

TEST_F(InputsTest, ANameIsGivenOnceAndToOneArgument) {
  std::string bytes = npy("<i4", "(4, 6)", std::string(96, 0));
  std::string first = write("ids.npy", bytes), second = write("b", bytes);
  EXPECT_THAT(problemOf({first, "ids=" + second}),
              HasSubstr("'ids' is given twice, by '" + first + "' and by '" +
                        second + "'"));
  Plan twice = plan();
  twice.buffers.push_back(twice.buffers[0]);
  EXPECT_THAT(InputsSource().open({first}, twice).message(),
              HasSubstr("two arguments are called 'ids'"));
}

TEST_F(InputsTest, ASafetensorsFileIsNotNamed) {
  EXPECT_THAT(
      problemOf({"w=" + writeTensor("f", "F32", "w", {1}, "1234")}),
      HasSubstr("says itself what its tensors are called; give it without "
                "'w='"));
  EXPECT_THAT(problemOf({path("none")}),
              HasSubstr("none': No such file or directory"));
  EXPECT_THAT(problemOf({}), IsEmpty());
}

} // namespace

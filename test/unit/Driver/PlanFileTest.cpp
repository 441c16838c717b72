// Compiled plans as files: what is written is read, and nothing else is.
#include "tpsp/Runtime/Driver/PlanFile.h"

#include "TestFiles.h"

#include "tpsp/Runtime/Driver/WholeFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <functional>
#include <limits>
#include <random>

using namespace tpsp;
using namespace tpsp::rt;
using testing::HasSubstr;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A plan of y = exp(-inf where masked, x / 3) summed over tp, with a value in
/// every field.
PlanDescription somePlan() {
  PlanDescription plan;
  plan.model = "dir/\"a b\".mlir";
  plan.modelHash = 0xfedcba9876543210;
  plan.dtype = "bf16";
  Manifest &manifest = plan.manifest;
  manifest.program = "f_grad";
  manifest.mesh = {{"dp", 1}, {"tp", 3}};
  manifest.arenaBytes = 4096;
  manifest.savedBytes = 12;
  manifest.matmulFlops = 1.0 / 3;
  manifest.commands = 2;
  manifest.streams = 2;
  manifest.events = 1;
  manifest.transposeCopies = 1;
  ManifestTensor x{"x",
                   ManifestTensor::Kind::Parameter,
                   0,
                   "s@tp, d",
                   {6, 5},
                   {{1}, {}},
                   {},
                   false,
                   TPSP_RT_BF16,
                   0,
                   0.5,
                   1.0 / 3,
                   2,
                   64,
                   20};
  ManifestTensor y{"y",         ManifestTensor::Kind::Output,
                   0,           "s | max@tp",
                   {6},         {{}},
                   {1},         true,
                   TPSP_RT_I32, 7,
                   0,           1,
                   -1,          128,
                   24};
  manifest.tensors = {x, y};
  manifest.collectives = {{"all_reduce",
                           {"tp"},
                           "",
                           "forward",
                           48,
                           3,
                           "y",
                           "it is summed over tp",
                           "m.mlir:3:8",
                           {1}}};
  plan.trace = emptyTrace(manifest);
  plan.trace.commands[0].name = "kernel x";
  plan.trace.commands[1].reads = {0};
  plan.trace.buffers = {{20, true, {0}, "x", "m.mlir:2:7"},
                        {24, false, {0, 1}, "y \"z\"", ""}};
  plan.reference.values = {
      {{"s", "d"}, {6, 5}}, {{"s", "d"}, {6, 5}}, {{"s"}, {6}}};
  plan.reference.arguments = 1;
  plan.reference.operations = {
      {"causal_mask",
       "m.mlir:2:8",
       {0},
       {{"fill", -infinity},
        {"query", std::string("s")},
        {"flag", true},
        {"seed", int64_t(1) << 62},
        {"third", 1.0 / 3},
        {"over", reference::IndexNames{"s", "d"}}}},
      {"reduce", "", {1}, {{"kind", std::string("max")}}}};
  plan.reference.results = {2};
  return plan;
}

class PlanFile : public TestFiles {
protected:
  void SetUp() override {
    Status status = writePlan(plan, object, somePlan());
    ASSERT_TRUE(status.ok()) << status.message();
    bytes = read("plan.so");
  }
  /// Why a file of these bytes is refused; "" if it is not.
  std::string refusal(const std::string &of) {
    PlanDescription out;
    return readPlan(write("changed.so", of), out).message();
  }

  std::string plan = path("plan.so");
  std::string object = "\x7f"
                       "ELF and more";
  std::string bytes;
};

} // namespace

TEST_F(PlanFile, GivesBackEveryField) {
  PlanDescription got;
  Status status = readPlan(plan, got);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(toJson(got), toJson(somePlan()));
  const PlanDescription expected = somePlan();
  EXPECT_EQ(got.model, expected.model);
  EXPECT_EQ(got.modelHash, expected.modelHash);
  EXPECT_EQ(got.manifest.matmulFlops, expected.manifest.matmulFlops);
  EXPECT_EQ(got.manifest.tensors[1].pendingMax, true);
  EXPECT_EQ(got.manifest.tensors[0].axes, expected.manifest.tensors[0].axes);
  EXPECT_EQ(got.reference.operations[0].attributes,
            expected.reference.operations[0].attributes);
  EXPECT_EQ(got.trace.commands[1].reads, (std::vector<int64_t>{0}));
  EXPECT_EQ(got.trace.ranks.size(), 3u);
  EXPECT_EQ(got.trace.collectives.size(), 1u);
  EXPECT_EQ(got.trace.arenaBytes, 4096);
}

TEST_F(PlanFile, RefusesEveryLengthButItsOwn) {
  for (size_t length = 0; length < bytes.size(); length += 7)
    EXPECT_NE(refusal(bytes.substr(0, length)), "") << length;
  EXPECT_NE(refusal(bytes.substr(0, bytes.size() - 1)), "");
  EXPECT_NE(refusal(bytes + "x"), "");
  EXPECT_THAT(refusal(bytes.substr(0, bytes.size() / 2)),
              HasSubstr("it was cut short"));
  EXPECT_EQ(refusal(bytes), "");
}

TEST_F(PlanFile, RefusesEveryChangedByte) {
  std::mt19937 random(20261121);
  for (size_t i = 0; i < bytes.size(); i += 1 + random() % 5) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << random() % 8));
    EXPECT_NE(refusal(changed), "") << "byte " << i << " of " << bytes.size();
  }
}

TEST_F(PlanFile, RefusesAnotherVersionOfTheInterface) {
  // The version of the ABI, then eight bytes of name, end the file.
  std::string other = bytes;
  other[bytes.size() - 12] = TPSP_RT_ABI_VERSION + 1;
  EXPECT_THAT(refusal(other), HasSubstr("compile the model again"));
  EXPECT_THAT(refusal(other),
              HasSubstr(std::to_string(TPSP_RT_ABI_VERSION + 1) + "."));
}

TEST_F(PlanFile, RefusesAProcessorThatThisIsNot) {
  PlanDescription other = somePlan();
  other.processor = "x86-64-v9";
  ASSERT_TRUE(writePlan(plan, object, other).ok());
  EXPECT_THAT(refusal(read("plan.so")), HasSubstr("level x86-64-v9"));
}

TEST_F(PlanFile, RefusesWhatIsNoPlan) {
  EXPECT_THAT(refusal(""), HasSubstr("no compiled plan"));
  EXPECT_THAT(refusal(std::string(1000, 'x')), HasSubstr("cut short"));
  PlanDescription out;
  EXPECT_THAT(readPlan(path("none.so"), out).message(),
              HasSubstr("No such file"));
  EXPECT_THAT(readPlan("/dev/null", out).message(),
              HasSubstr("not a regular file"));
  EXPECT_FALSE(looksLikePlan("/dev/null"));
  EXPECT_FALSE(looksLikePlan(path("none.so")));
}

TEST_F(PlanFile, RefusesCodeThatIsNone) {
  StepFunction step = nullptr;
  Status status = loadPlan(plan, step);
  EXPECT_THAT(status.message(), HasSubstr("cannot run"));
  EXPECT_EQ(step, nullptr);
}

TEST_F(PlanFile, RefusesADescriptionThatContradictsItself) {
  using Change = std::function<void(PlanDescription &)>;
  const std::pair<const char *, Change> changes[] = {
      {"outside the arena",
       [](auto &p) { p.manifest.tensors[0].offset = 4090; }},
      {"an axis that is not there",
       [](auto &p) { p.manifest.tensors[0].axes[0] = {2}; }},
      {"a pending axis that is not there",
       [](auto &p) { p.manifest.tensors[1].pending = {-1}; }},
      {"axes of more dimensions than there are",
       [](auto &p) { p.manifest.tensors[1].axes.push_back({}); }},
      {"a result of another number",
       [](auto &p) { p.manifest.tensors[1].number = 1; }},
      {"fewer commands than drawn", [](auto &p) { p.manifest.commands = 1; }},
      {"a read of what is not there",
       [](auto &p) { p.trace.commands[1].reads = {2}; }},
      {"a user that is not there",
       [](auto &p) { p.trace.buffers[0].users = {-1}; }},
      {"a collective that is not there",
       [](auto &p) { p.trace.commands[0].collective = 1; }},
      {"more arguments than the reference has",
       [](auto &p) { p.reference.arguments = 0; }},
      {"a part of another size",
       [](auto &p) { p.manifest.tensors[0].bytes = 16; }},
      {"an extent that its axes do not divide",
       [](auto &p) { p.manifest.tensors[0].shape[0] = 7; }},
      {"more elements than there can be",
       [](auto &p) { p.manifest.tensors[0].shape[1] = int64_t(1) << 62; }},
      {"a type that there is not",
       [](auto &p) { p.manifest.tensors[0].dtype = 77; }},
      {"an arena of fewer than no bytes",
       [](auto &p) { p.manifest.arenaBytes = -1; }},
      {"more streams than there can be",
       [](auto &p) { p.manifest.streams = int64_t(1) << 62; }},
      {"fewer events than none", [](auto &p) { p.manifest.events = -1; }},
      {"a shape that is not the reference's",
       [](auto &p) {
         p.reference.values[0].shape = {5, 6};
       }},
      {"a cotangent of a result that is not there",
       [](auto &p) {
         p.manifest.tensors.insert(p.manifest.tensors.begin() + 1,
                                   p.manifest.tensors[0]);
         p.reference.cotangents = {1};
       }},
      {"a gradient of an argument that is not there",
       [](auto &p) {
         p.manifest.tensors.push_back(p.manifest.tensors[1]);
         p.reference.gradients = {1};
       }},
      {"a result that the reference does not have",
       [](auto &p) { p.reference.results = {3}; }},
      {"more ranks than there can be",
       [](auto &p) { p.manifest.mesh[0].size = int64_t(1) << 62; }},
      {"fewer results", [](auto &p) { p.reference.results = {}; }}};
  for (const auto &[what, change] : changes) {
    PlanDescription plan = somePlan(), out;
    change(plan);
    EXPECT_FALSE(fromJson(toJson(plan), out).ok()) << what;
  }
  PlanDescription out;
  EXPECT_FALSE(fromJson("", out).ok());
  EXPECT_FALSE(fromJson("{}", out).ok());
  EXPECT_FALSE(fromJson("[1, 2", out).ok());
  EXPECT_TRUE(fromJson(toJson(somePlan()), out).ok());
}

/// A hash that is right says nothing of who made it: whatever the description
/// has become, it is refused or read, and what is read agrees with itself.
TEST_F(PlanFile, ReadsOrRefusesADescriptionWithAnyByteChanged) {
  const std::string text = toJson(somePlan());
  std::mt19937 random(20261122);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ (1 << random() % 8));
    PlanDescription out;
    if (!fromJson(changed, out).ok())
      continue;
    EXPECT_EQ(out.trace.commands.size(), size_t(out.manifest.commands)) << i;
  }
}

TEST_F(PlanFile, ReadsOrRefusesADescriptionWithAnyNumberChanged) {
  const std::string text = toJson(somePlan());
  auto isDigit = [&](size_t i) { return std::isdigit(text[i]) != 0; };
  for (size_t begin = 1; begin < text.size(); ++begin) {
    if (!isDigit(begin) || isDigit(begin - 1))
      continue;
    size_t end = begin;
    while (end < text.size() && isDigit(end))
      ++end;
    for (const char *other :
         {"-1", "0", "9223372036854775807", "-9223372036854775808", "1e300",
          "4294967296", "null", "[]", "\"x\""}) {
      std::string changed = text;
      changed.replace(begin, end - begin, other);
      PlanDescription out;
      if (!fromJson(changed, out).ok())
        continue;
      EXPECT_EQ(out.trace.commands.size(), size_t(out.manifest.commands));
    }
  }
}

TEST_F(PlanFile, LeavesTheOldOneIfTheNewCannotBeWritten) {
  EXPECT_THAT(writePlan("/dev/full", object, somePlan()).message(),
              HasSubstr("not a regular file"));
  EXPECT_FALSE(writePlan(path("no/such/folder.so"), object, somePlan()).ok());
  {
    WholeFile file;
    ASSERT_TRUE(file.create(plan).ok());
    ASSERT_TRUE(file.write(0, "abc", 3).ok());
  }
  EXPECT_EQ(read("plan.so"), bytes);
}

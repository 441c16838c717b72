// Compiled plans as files: a written plan is read, and any other file is
// refused.
#include "tpsp/Runtime/Driver/Plans/PlanFile.h"

#include "TestFiles.h"

#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

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

PlanBuffer bufferOf(const std::string &name, BufferKind kind, int64_t offset,
                    int64_t bytes) {
  PlanBuffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.offset = offset;
  buffer.bytes = bytes;
  buffer.location = "m.mlir:2:7";
  return buffer;
}

/// Returns a plan of x, its exponential and their sum, with a product and
/// attention.
Plan someCommands() {
  Plan plan;
  plan.program = "f_grad";
  plan.mesh = {{"dp", 1}, {"tp", 3}};
  plan.arenaBytes = 4096;
  plan.savedBytes = 12;
  plan.numStreams = 2;
  plan.numEvents = 1;
  plan.transposeCopies = 1;
  PlanBuffer x = bufferOf("x", BufferKind::Parameter, 64, 20);
  x.subscripts = "s@tp, d";
  x.shape = {6, 5};
  x.axes = {{1}, {}};
  x.dtype = TPSP_RT_BF16;
  x.mean = 0.5;
  x.deviation = 1.0 / 3;
  x.of = 2;
  PlanBuffer y = bufferOf("y \"z\"", BufferKind::Output, 128, 24);
  y.subscripts = "s | max@tp";
  y.shape = {6};
  y.axes = {{}};
  y.pending = {1};
  y.pendingMax = true;
  y.dtype = TPSP_RT_I32;
  y.below = 7;
  PlanBuffer unused = bufferOf("", BufferKind::Temporary, 0, 8);
  unused.offset.reset();
  unused.isForGradient = true;
  plan.buffers = {x, bufferOf("t", BufferKind::Temporary, 192, 24), unused, y};
  PlanCommand exp;
  exp.call = "kernel";
  exp.value = "x";
  exp.kernel = {6, 1.0 / 3, 6, 24, 1};
  exp.accesses = {{0, {0, 20, 1, 0}, false}, {1, {0, 4, 3, 8}, true}};
  PlanCommand reduce;
  reduce.kind = CommandKind::Collective;
  reduce.call = "all_reduce";
  reduce.location = "m.mlir:3:8";
  reduce.stream = 1;
  reduce.dtype = TPSP_RT_I32;
  reduce.collective = {CollectiveKind::AllReduce, {1}, 3, 24, 32, 0};
  reduce.accesses = {{1, {0, 24, 1, 0}, false}, {3, {0, 24, 1, 0}, true}};
  PlanCommand wait;
  wait.kind = CommandKind::EventWait;
  wait.call = "event_wait";
  wait.event = 0;
  PlanCommand matmul;
  matmul.kind = CommandKind::Matmul;
  matmul.call = "matmul";
  matmul.matmul = {2, 3, 4, 5, 6, true, false, 8, true, {1, 2, 3, 4}};
  matmul.epilogue = {EpilogueStep::Bias, EpilogueStep::Gelu};
  PlanCommand attention;
  attention.phase = 1;
  attention.kind = CommandKind::Attention;
  attention.call = "attention";
  attention.attention = {{{true, 2}, 0.5, 3}, 2, 3, 4, 5, 6, true, 7, true};
  plan.commands = {exp, reduce, wait, matmul, attention};
  LedgerRow row;
  row.kind = CollectiveKind::AllReduce;
  row.axes = {"tp"};
  row.phase = Phase::Backward;
  row.bytes = 48;
  row.group = 3;
  row.tensor = "y";
  row.reason = "it is summed over tp";
  row.gradients = {0, 4};
  row.overlap = 0.75;
  row.location = "m.mlir:3:8";
  row.commands = {1};
  plan.ledger = {row};
  return plan;
}

/// Returns a plan of y = exp(-inf where masked, x / 3) summed over tp, with a
/// value in every field.
PlanDescription somePlan() {
  PlanDescription plan;
  plan.model = "dir/\"a b\".mlir";
  plan.modelHash = 0xfedcba9876543210;
  plan.dtype = "bf16";
  plan.plan = std::make_shared<Plan>(someCommands());
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
  /// Returns why a file of these bytes is refused; "" if it is not.
  std::string refusal(const std::string &of) {
    PlanDescription out;
    return readPlan(write("changed.so", of), out).message();
  }

  std::string plan = path("plan.so");
  std::string object = "\x7f"
                       "ELF and more";
  std::string bytes;
};

/// Checks that a plan that was read can be drawn and summed up.
void expectUsable(const Plan &plan) {
  EXPECT_EQ(readsOf(plan).size(), plan.commands.size());
  EXPECT_LE(memoryUse(plan).liveAtPeak.size(), plan.buffers.size());
}

} // namespace

TEST_F(PlanFile, GivesBackEveryField) {
  PlanDescription got;
  Status status = readPlan(plan, got);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(toJson(got), toJson(somePlan()));
  for (size_t i = 0; i < got.plan->commands.size(); ++i)
    EXPECT_EQ(got.plan->commands[i].phase, somePlan().plan->commands[i].phase);
  const PlanDescription expected = somePlan();
  EXPECT_EQ(got.model, expected.model);
  EXPECT_EQ(got.modelHash, expected.modelHash);
  const Plan &plan = *got.plan;
  EXPECT_EQ(plan.matmulFlops(), expected.plan->matmulFlops());
  EXPECT_EQ(plan.buffers[3].pendingMax, true);
  EXPECT_EQ(plan.buffers[0].axes, expected.plan->buffers[0].axes);
  EXPECT_EQ(plan.buffers[2].offset, std::nullopt);
  EXPECT_EQ(got.reference.operations[0].attributes,
            expected.reference.operations[0].attributes);
  EXPECT_EQ(readsOf(plan)[1], (std::vector<int64_t>{0}));
  EXPECT_EQ(plan.ledger[0].overlap, 0.75);
  EXPECT_EQ(epiloguesOf(plan).size(), 1u);
  EXPECT_EQ(attentionOf(plan).size(), 1u);
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
  // The file ends with the version of the ABI and a name of eight bytes.
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

using Change = std::function<void(PlanDescription &, Plan &)>;

/// Messages, and the changes that cause them.
const std::pair<const char *, Change> contradictions[] = {
    {"outside the arena", [](auto &, auto &p) { p.buffers[0].offset = 4090; }},
    {"a temporary outside the "
     "arena",
     [](auto &, auto &p) { p.buffers[1].offset = 4090; }},
    {"an argument without a "
     "place",
     [](auto &, auto &p) { p.buffers[0].offset.reset(); }},
    {"an axis that is not "
     "there",
     [](auto &, auto &p) { p.buffers[0].axes[0] = {2}; }},
    {"a pending axis that is "
     "not there",
     [](auto &, auto &p) { p.buffers[3].pending = {-1}; }},
    {"axes of more dimensions "
     "than there are",
     [](auto &, auto &p) { p.buffers[3].axes.push_back({}); }},
    {"a result of another "
     "number",
     [](auto &, auto &p) { p.buffers[3].number = 1; }},
    {"fewer commands than the "
     "ledger has",
     [](auto &, auto &p) { p.commands.resize(1); }},
    {"an access of what is "
     "not there",
     [](auto &, auto &p) { p.commands[1].accesses[0].buffer = 4; }},
    {"an access of fewer than "
     "no buffers",
     [](auto &, auto &p) { p.commands[1].accesses[0].buffer = -1; }},
    {"an access beyond its "
     "buffer",
     [](auto &, auto &p) { p.commands[1].accesses[0].part.length = 25; }},
    {"an access before its "
     "buffer",
     [](auto &, auto &p) { p.commands[1].accesses[0].part.begin = -1; }},
    {"more runs than there is "
     "room for",
     [](auto &, auto &p) {
       p.commands[0].accesses[1].part.count = int64_t(1) << 62;
     }},
    {"runs without a pitch",
     [](auto &, auto &p) { p.commands[0].accesses[1].part.pitch = 0; }},
    {"a collective that is "
     "not there",
     [](auto &, auto &p) {
       p.commands[0].collective.row = 1, p.commands[1].collective.row = 1;
     }},
    {"a row whose command "
     "does another",
     [](auto &, auto &p) { p.ledger[0].commands = {0}; }},
    {"a row that nothing "
     "performs",
     [](auto &, auto &p) { p.ledger.emplace_back(); }},
    {"a row with a command "
     "that is not there",
     [](auto &, auto &p) {
       p.ledger[0].commands = {1, 9};
     }},
    {"a collective over an "
     "axis that is not there",
     [](auto &, auto &p) { p.commands[1].collective.axes = {2}; }},
    {"a stream that is not "
     "there",
     [](auto &, auto &p) { p.commands[1].stream = 2; }},
    {"an event that is not "
     "there",
     [](auto &, auto &p) { p.commands[2].event = 1; }},
    {"more arguments than the "
     "reference has",
     [](auto &d, auto &) { d.reference.arguments = 0; }},
    {"a part of another size",
     [](auto &, auto &p) { p.buffers[0].bytes = 16; }},
    {"an extent that its axes "
     "do not divide",
     [](auto &, auto &p) { p.buffers[0].shape[0] = 7; }},
    {"more elements than "
     "there can be",
     [](auto &, auto &p) { p.buffers[0].shape[1] = int64_t(1) << 62; }},
    {"a type that there is "
     "not",
     [](auto &, auto &p) { p.buffers[0].dtype = 77; }},
    {"an arena of fewer than "
     "no bytes",
     [](auto &, auto &p) { p.arenaBytes = -1; }},
    {"more streams than there "
     "can be",
     [](auto &, auto &p) { p.numStreams = int64_t(1) << 62; }},
    {"fewer events than none", [](auto &, auto &p) { p.numEvents = -1; }},
    {"a shape that is not the "
     "reference's",
     [](auto &d, auto &) {
       d.reference.values[0].shape = {5, 6};
     }},
    {"a cotangent of a result "
     "that is not there",
     [](auto &d, auto &p) {
       p.buffers.push_back(p.buffers[0]);
       d.reference.cotangents = {1};
     }},
    {"a gradient of an "
     "argument that is not "
     "there",
     [](auto &d, auto &p) {
       p.buffers.push_back(p.buffers[3]);
       d.reference.gradients = {1};
     }},
    {"a result that the "
     "reference does not have",
     [](auto &d, auto &) { d.reference.results = {3}; }},
    {"more ranks than there "
     "can be",
     [](auto &, auto &p) { p.mesh[0].size = int64_t(1) << 62; }},
    {"fewer results", [](auto &d, auto &) { d.reference.results = {}; }}};

TEST_F(PlanFile, RefusesADescriptionThatContradictsItself) {
  for (const auto &[what, change] : contradictions) {
    PlanDescription changed = somePlan(), out;
    auto commands = std::make_shared<Plan>(*changed.plan);
    change(changed, *commands);
    changed.plan = commands;
    EXPECT_FALSE(fromJson(toJson(changed), out).ok()) << what;
  }
  PlanDescription out;
  EXPECT_FALSE(fromJson("", out).ok());
  EXPECT_EQ(fromJson("{}", out).message(),
            "the plan's description cannot be read: a key is missing or of "
            "another type; emit the plan again");
  EXPECT_EQ(fromJson("[1, 2", out).message(),
            "the plan's description cannot be read: line 1, column 6, [2]: the "
            "text ends before its value does; emit the plan again");
  EXPECT_TRUE(fromJson(toJson(somePlan()), out).ok());
}

/// Tests a command's kind, and the element type of a value of the reference.
TEST_F(PlanFile, RefusesANameThatNoValueOfAnEnumerationHas) {
  for (std::string key : {"kind", "element"}) {
    std::string text = toJson(somePlan()), begin = "\"" + key + "\":\"";
    size_t found = text.find(begin);
    ASSERT_NE(found, std::string::npos);
    text.insert(found + begin.size(), "un");
    PlanDescription out;
    Status status = fromJson(text, out);
    EXPECT_FALSE(status.ok()) << key;
    EXPECT_THAT(status.message(), testing::HasSubstr("an unknown name, 'un"));
  }
}

/// Anyone can compute a right hash. So a changed description is refused, or it
/// is read and is consistent.
TEST_F(PlanFile, ReadsOrRefusesADescriptionWithAnyByteChanged) {
  const std::string text = toJson(somePlan());
  std::mt19937 random(20261122);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ (1 << random() % 8));
    PlanDescription out;
    if (!fromJson(changed, out).ok())
      continue;
    expectUsable(*out.plan);
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
      expectUsable(*out.plan);
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

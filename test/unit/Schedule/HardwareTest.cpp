#include "tpsp/Schedule/Hardware.h"
#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Schedule/CostModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>

using namespace tpsp;
using testing::HasSubstr;

namespace {

std::string errorOf(llvm::Expected<Hardware> hardware) {
  return hardware ? "" : llvm::toString(hardware.takeError());
}

/// Returns a built-in description with one piece of its text replaced.
std::string withReplaced(const std::string &from, const std::string &to) {
  std::string text = toJson(*findHardware("h100-sxm"));
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string refusalOf(const std::string &from, const std::string &to) {
  return errorOf(parseHardware(withReplaced(from, to), "my.json"));
}

Mesh meshOf(int64_t ranks) { return Mesh({{"tp", ranks, AxisRole::None}}); }

} // namespace

TEST(Hardware, BuiltInDescriptionsAreRead) {
  EXPECT_THAT(
      builtinHardware(),
      testing::IsSupersetOf({"a100-sxm", "a100-sxm-2node", "cpu", "h100-sxm",
                             "h100-sxm-2node", "h200-sxm", "h200-sxm-2node"}));
  for (const std::string &name : builtinHardware())
    EXPECT_EQ(errorOf(findHardware(name)), "") << name;
}

TEST(Hardware, BaseGivesWhatIsNotReplaced) {
  auto h200 = findHardware("h200-sxm"), pair = findHardware("h200-sxm-2node");
  ASSERT_TRUE(h200 && pair);
  EXPECT_EQ(pair->nodes, 2);
  EXPECT_EQ(pair->memoryBytes, 141e9);
  EXPECT_EQ(pair->matmul.at(TPSP_RT_BF16).rates,
            h200->matmul.at(TPSP_RT_BF16).rates);
  EXPECT_EQ(pair->collectiveCores, findHardware("h100-sxm")->collectiveCores);
}

TEST(Hardware, MatmulsOfF16) {
  auto h100 = findHardware("h100-sxm");
  ASSERT_TRUE(bool(h100));
  // The file has no f16, which counts as fast as bf16.
  EXPECT_EQ(h100->matmul.count(TPSP_RT_F16), 0u);
  EXPECT_EQ(matmulRatesOf(*h100, TPSP_RT_F16), &h100->matmul.at(TPSP_RT_BF16));
  auto own = parseHardware(
      R"({"base": "h100-sxm", "name": "mine", "matmul": {
          "f16": {"peak_tflops": 8, "sustained_tflops": 4, "m": [64],
                  "n": [64], "k": [64], "tflops": [[[2]]]},
          "f32": {"peak_tflops": 2, "sustained_tflops": 1, "m": [64],
                  "n": [64], "k": [64], "tflops": [[[1]]]}}})",
      "own.json");
  ASSERT_TRUE(bool(own)) << llvm::toString(own.takeError());
  EXPECT_EQ(matmulRatesOf(*own, TPSP_RT_F16)->peak, 8e12);
  EXPECT_EQ(matmulRatesOf(*own, TPSP_RT_BF16)->peak, 8e12);
  EXPECT_EQ(matmulRatesOf(*own, TPSP_RT_F64), nullptr);
  auto again = parseHardware(toJson(*own), "again");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->matmul.at(TPSP_RT_F16).peak, 8e12);
  EXPECT_THAT(refusalOf("\"bf16\": {", "\"fp16\": {"),
              HasSubstr("matmul: there is no key 'fp16' (did you mean "
                        "'f16'?); there are bf16, f16, f32, f64"));
}

TEST(Hardware, OneDeviceNeedsNoCollectives) {
  EXPECT_EQ(errorOf(parseHardware(
                R"({"base": "h100-sxm", "name": "one", "devices_per_node": 1,
                    "collectives": []})",
                "one.json")),
            "");
  EXPECT_THAT(errorOf(parseHardware(
                  R"({"base": "h100-sxm", "name": "two", "devices_per_node": 2,
                      "collectives": []})",
                  "two.json")),
              HasSubstr("there is no all_reduce for any group"));
}

TEST(Hardware, WrittenAndReadAgain) {
  for (const std::string &name : builtinHardware()) {
    auto first = findHardware(name);
    ASSERT_TRUE(bool(first));
    std::string text = toJson(*first);
    auto again = parseHardware(text, "again");
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(toJson(*again), text);
  }
}

TEST(Hardware, RatesByLayoutAreWrittenAndReadAgain) {
  Hardware machine = *findHardware("cpu");
  MatmulRates &rates = machine.matmul[TPSP_RT_F32];
  for (size_t layout = 0; layout < rates.relative.size(); ++layout)
    rates.relative[layout].clear();
  std::vector<double> &factors =
      rates.relative[MatmulRates::layoutOf(true, false)];
  for (size_t i = 0; i < rates.rates.size(); ++i)
    factors.push_back(0.5 + double(i) / 1024);
  std::string text = toJson(machine);
  auto again = parseHardware(text, "again");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(toJson(*again), text);
  const MatmulRates &read = again->matmul.at(TPSP_RT_F32);
  EXPECT_TRUE(read.relative[MatmulRates::layoutOf(false, false)].empty());
  EXPECT_NEAR(read.at(1, 0, 2, 2) / read.at(1, 0, 2),
              rates.at(1, 0, 2, 2) / rates.at(1, 0, 2), 1e-3);

  size_t grid = text.find("\"relative_tn\"");
  ASSERT_NE(grid, std::string::npos);
  text.replace(text.find("[", grid), 1, "[[],");
  auto wrong = parseHardware(text, "wrong");
  ASSERT_FALSE(bool(wrong));
  EXPECT_NE(llvm::toString(wrong.takeError()).find("relative_tn"),
            std::string::npos);
}

TEST(Hardware, FilesAreRead) {
  std::string path = testing::TempDir() + "/machine.json";
  std::ofstream(path) << R"({"base": "h100-sxm", "name": "mine", "cores": 66})";
  auto mine = findHardware(path);
  ASSERT_TRUE(bool(mine)) << llvm::toString(mine.takeError());
  EXPECT_EQ(mine->name, "mine");
  EXPECT_EQ(mine->cores, 66);
}

TEST(Hardware, AnAlgorithmCanBePinned) {
  auto any = findHardware("h100-sxm"), ring = findHardware("h100-sxm:ring");
  ASSERT_TRUE(any && ring);
  EXPECT_EQ(ring->name, "h100-sxm:ring");
  Mesh mesh({{"tp", 8, AxisRole::None}});
  GroupPlace place{8, 8, 1};
  CostModel fastest(*any, mesh), pinned(*ring, mesh);
  auto seconds = [&](const CostModel &cost, double bytes) {
    return cost.collectiveSeconds(CollectiveKind::AllReduce, bytes, place);
  };
  EXPECT_GT(seconds(pinned, 256 << 20), 1.2 * seconds(fastest, 256 << 20));
  EXPECT_THAT(errorOf(findHardware("h100:ring")),
              HasSubstr("'h100' is no built-in hardware"));
}

/// Between nodes there are rates of trees; within a node only of small
/// messages.
TEST(Hardware, AnAlgorithmIsPinnedWhereItHasRates) {
  auto any = findHardware("h100-sxm-2node"),
       tree = findHardware("h100-sxm-2node:tree");
  ASSERT_TRUE(any && tree);
  Mesh mesh({{"dp", 2, AxisRole::None}, {"tp", 8, AxisRole::None}});
  CostModel fastest(*any, mesh), pinned(*tree, mesh);
  GroupPlace inside{8, 8, 1}, across{16, 8, 2};
  auto seconds = [&](const CostModel &cost, CollectiveKind kind,
                     GroupPlace place) {
    return cost.collectiveSeconds(kind, 128 << 20, place);
  };
  EXPECT_GT(seconds(pinned, CollectiveKind::AllReduce, across),
            seconds(fastest, CollectiveKind::AllReduce, across));
  EXPECT_EQ(seconds(pinned, CollectiveKind::AllReduce, inside),
            seconds(fastest, CollectiveKind::AllReduce, inside));
  EXPECT_THAT(tree->basis.assumed,
              HasSubstr("all_reduce in a node by any algorithm (no tree was "
                        "measured there)"));
  EXPECT_EQ(any->basis.assumed.find("tree"), std::string::npos);
  // A gather has no tree and keeps its ring.
  EXPECT_EQ(seconds(pinned, CollectiveKind::AllGather, across),
            seconds(fastest, CollectiveKind::AllGather, across));
}

TEST(Hardware, AnAlgorithmWithoutRatesIsRefused) {
  for (const char *name : {"h100-sxm:tree", "a100-sxm:tree", "cpu:tree"})
    EXPECT_THAT(errorOf(findHardware(name)),
                HasSubstr("has no rates of all_reduce by tree that could be "
                          "pinned; leave ':tree' away"))
        << name;
  EXPECT_TRUE(bool(findHardware("a100-sxm:ring")));
}

/// A user's description with measured trees can pin them.
TEST(Hardware, AMeasuredAlgorithmIsPinned) {
  std::string path = testing::TempDir() + "/trees.json";
  std::ofstream(path) << R"({"base": "h100-sxm", "collectives": [
    {"kind": "all_reduce", "algorithm": "ring", "tier": "nvlink",
     "latency_us": 6, "hop_us": 1, "bus_gbs": 360,
     "measured_us": {"8": [[134217728, 800]]}},
    {"kind": "all_reduce", "algorithm": "tree", "tier": "nvlink",
     "latency_us": 6, "hop_us": 1, "bus_gbs": 300,
     "measured_us": {"8": [[134217728, 900]]}},)"
                      << R"(
    {"kind": "all_gather", "algorithm": "ring", "tier": "nvlink",
     "latency_us": 6, "hop_us": 1, "bus_gbs": 360},
    {"kind": "reduce_scatter", "algorithm": "ring", "tier": "nvlink",
     "latency_us": 6, "hop_us": 1, "bus_gbs": 360},
    {"kind": "all_to_all", "algorithm": "ring", "tier": "nvlink",
     "latency_us": 6, "hop_us": 1, "bus_gbs": 360},
    {"kind": "permute", "algorithm": "ring", "tier": "nvlink",
     "latency_us": 6, "hop_us": 1, "bus_gbs": 360}],
    "tiers": {"inside_node": "nvlink"}})";
  auto tree = findHardware(path + ":tree");
  ASSERT_TRUE(bool(tree)) << llvm::toString(tree.takeError());
  CostModel cost(*tree, Mesh({{"tp", 8, AxisRole::None}}));
  EXPECT_NEAR(cost.collectiveSeconds(CollectiveKind::AllReduce, 128 << 20,
                                     GroupPlace{8, 8, 1}),
              901e-6, 2e-6);
}

TEST(Hardware, UnknownNamesAreRefusedWithTheKnownOnes) {
  std::string error = errorOf(findHardware("h100"));
  EXPECT_THAT(error, HasSubstr("'h100' is no built-in hardware"));
  EXPECT_THAT(
      error,
      HasSubstr("a100-sxm, a100-sxm-2node, a100-sxm-cluster, cpu, h100-sxm"));
  EXPECT_THAT(errorOf(findHardware(testing::TempDir())),
              HasSubstr("cannot be read as a file"));
  EXPECT_THAT(
      errorOf(findHardware("h100-sxm:rings")),
      HasSubstr("'rings' is none; what can be pinned is h100-sxm:ring"));
  EXPECT_THAT(errorOf(findHardware("h100-sxm-cluster:x")),
              HasSubstr("is h100-sxm-cluster:ring, h100-sxm-cluster:tree"));
}

TEST(Hardware, WrongValuesAreRefusedWithTheirPath) {
  EXPECT_THAT(errorOf(parseHardware("{\"name\": ", "my.json")),
              HasSubstr("my.json: not JSON"));
  for (std::string number : {"NaN", "-Infinity", "nan", "1e999"})
    EXPECT_THAT(
        refusalOf("\"peak_tflops\": 989.0", "\"peak_tflops\": " + number),
        testing::AllOf(HasSubstr("my.json: not JSON: line "),
                       HasSubstr("matmul.bf16.peak_tflops: found " + number),
                       testing::Not(HasSubstr("exception"))));
  EXPECT_THAT(errorOf(parseHardware("[]", "my.json")),
              HasSubstr("my.json: expected an object"));
  EXPECT_THAT(refusalOf("\"cores\": 132", "\"cores\": -1"),
              HasSubstr("my.json: cores: expected a whole number from 1"));
  EXPECT_THAT(refusalOf("\"cores\": 132", "\"cors\": 132"),
              HasSubstr("cores: is missing; 'cors' (did you mean 'cores'?) is "
                        "not known"));
  EXPECT_THAT(
      refusalOf("\"cores\": 132", "\"cores\": 132, \"sms\": 1"),
      HasSubstr(
          "there is no key 'sms'; there are adapters_per_node, attention, "));
  EXPECT_THAT(refusalOf("\"kind\": \"gpu\"", "\"kind\": \"tpu\""),
              HasSubstr("kind: expected one of gpu, cpu, not 'tpu'"));
  EXPECT_THAT(refusalOf("\"peak_tflops\": 989.0", "\"peak_tflops\": \"a\""),
              HasSubstr("matmul.bf16.peak_tflops: expected a number"));
  EXPECT_THAT(
      refusalOf("\"operations_gops\": 30000.0", "\"operations_gops\": 0"),
      HasSubstr("kernel.operations_gops: expected a number above 0, not 0"));
  EXPECT_THAT(refusalOf("\"issue_us\": 2.5", "\"issue_us\": -1"),
              HasSubstr("issue_us: expected a number from 0 on, not -1"));
  // Changes the all_reduce in the network. Changing another one would have no
  // effect.
  EXPECT_THAT(refusalOf("\"algorithm\": \"in-network\",\n   \"tier\": "
                        "\"nvlink\"",
                        "\"algorithm\": \"in-network\",\n   \"tier\": "
                        "\"nvlinks\""),
              HasSubstr("is on tier 'nvlinks', which tiers does not have; it "
                        "has 'nvlink' and 'infiniband'"));
  EXPECT_THAT(
      refusalOf("\"inside_node\": \"nvlink\"", "\"inside_node\": \"wires\""),
      HasSubstr("there is no all_reduce for any group on tier "
                "'wires'"));
  EXPECT_THAT(refusalOf("\"kind\": \"permute\"", "\"kind\": \"gossip\""),
              HasSubstr("collectives[6].kind: expected one of all_reduce"));
}

TEST(Hardware, TablesAreAscendingPairs) {
  std::string text = R"({"base": "h100-sxm", "name": "x", "memory_gbs": )";
  auto refusal = [&](const char *table) {
    return errorOf(parseHardware(text + table + "}", "my.json"));
  };
  EXPECT_EQ(refusal("[[1024, 5]]"), "");
  EXPECT_THAT(refusal("[]"), HasSubstr("memory_gbs: expected a list"));
  EXPECT_THAT(refusal("[[1, 2], [1, 3]]"),
              HasSubstr("memory_gbs[1]: expected more bytes"));
  EXPECT_THAT(refusal("[[1, 0]]"),
              HasSubstr("memory_gbs[0][1]: expected a number above 0, not 0"));
  EXPECT_THAT(refusal("[[1, 2, 3]]"),
              HasSubstr("memory_gbs[0]: expected [bytes, value]"));
}

TEST(Hardware, TooManyRanksAreRefused) {
  auto one = findHardware("h100-sxm"), two = findHardware("h100-sxm-2node"),
       cpu = findHardware("cpu");
  ASSERT_TRUE(one && two && cpu);
  EXPECT_EQ(misfitOf(*one, meshOf(8)), "");
  EXPECT_THAT(misfitOf(*one, meshOf(16)),
              HasSubstr("h100-sxm has 8 devices (1 nodes of 8), and the mesh "
                        "has 16 ranks"));
  EXPECT_EQ(misfitOf(*two, meshOf(16)), "");
  EXPECT_NE(misfitOf(*two, meshOf(17)), "");
  EXPECT_EQ(misfitOf(*cpu, meshOf(64)), "");
}

// Tables of collectives between nodes, as descriptions have them, and adapters
// that devices share.
#include "tpsp/Schedule/CostModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tpsp;
using testing::HasSubstr;

namespace {

constexpr double mib = 1 << 20;

Hardware cluster() { return llvm::cantFail(findHardware("h100-sxm-cluster")); }

/// Returns the description with a table of a ring's all_gather between nodes.
std::string withTable(const std::string &key, const std::string &tables) {
  std::string text = toJson(cluster());
  std::string from = "\"kind\": \"all_gather\",\n   \"algorithm\": \"ring\",\n"
                     "   \"tier\": \"infiniband\",";
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.insert(at + from.size(), "\"" + key + "\": " + tables + ",");
}

std::string refusal(const std::string &key, const std::string &tables) {
  auto read = parseHardware(withTable(key, tables), "my.json");
  return read ? "" : llvm::toString(read.takeError());
}

double seconds(const Hardware &hardware, CollectiveKind kind, double size,
               int64_t nodes, int64_t perNode) {
  CostModel cost(hardware, Mesh({{"all", 2 * hardware.devicesPerNode, {}}}));
  return cost.collectiveSeconds(kind, size * mib,
                                GroupPlace{nodes * perNode, perNode, nodes}) -
         cost.launchSeconds();
}

constexpr CollectiveKind kinds[] = {
    CollectiveKind::AllReduce, CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
    CollectiveKind::Permute};

} // namespace

TEST(MeasuredPlaces, Keys) {
  EXPECT_EQ(refusal("measured_places_us", R"({"2x8": [[1, 5], [8, 6.5]]})"),
            "");
  EXPECT_EQ(refusal("measured_places_us", "{}"), "");
  for (const char *place : {"2", "x8", "2x", "1x8", "2x0", "2x8x1", "-2x8",
                            "2 x 8", "9999999999999999999x8"})
    EXPECT_THAT(refusal("measured_places_us",
                        "{\"" + std::string(place) + "\": [[1, 5]]}"),
                HasSubstr("expected nodes, at least 2, and ranks of each, as "
                          "in '2x8', not '" +
                          std::string(place) + "'"));
  EXPECT_THAT(refusal("measured_places_us", R"({"2x8": [[1,5]],
                                                "02x8": [[1,5]]})"),
              HasSubstr("'02x8' is there twice"));
  EXPECT_THAT(refusal("measured_places_us", "[]"),
              HasSubstr("expected an object from places to tables"));
  EXPECT_THAT(refusal("measured_places_us", R"({"2x8": []})"),
              HasSubstr("measured_places_us.2x8: expected a list"));
  EXPECT_THAT(refusal("measured_places_us", R"({"2x8": [[8, 5], [4, 6]]})"),
              HasSubstr("more bytes than the one before"));
  EXPECT_THAT(refusal("measured_us", R"({"16": [[1, 5]]})"),
              HasSubstr("between nodes write measured_places_us"));
}

TEST(MeasuredPlaces, WrittenAndReadAgain) {
  auto read = parseHardware(
      withTable("measured_places_us",
                R"({"2x8": [[1024, 66.1234], [1073741824, 1234567]],
                    "16x1": [[1024, 70]]})"),
      "my.json");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  read->adaptersPerNode = 4;
  auto again = parseHardware(toJson(*read), "again");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(toJson(*again), toJson(*read));
  EXPECT_EQ(again->adaptersPerNode, 4);
  for (const CollectiveRates &rates : again->collectives)
    if (!rates.places.empty()) {
      EXPECT_NEAR(rates.places.at(8).at(2).at(1).value, 1.234567, 1e-12);
      EXPECT_NEAR(rates.places.at(8).at(2).at(0).value, 66.1234e-6, 1e-12);
      EXPECT_EQ(rates.places.at(1).count(16), 1u);
    }
}

TEST(MeasuredPlaces, OnlyWhatDiffersFromTheBase) {
  Hardware mine = cluster();
  mine.name = "mine";
  mine.adaptersPerNode = 2;
  std::string text = toJson(mine, "h100-sxm-cluster");
  EXPECT_EQ(text, "{\n \"base\": \"h100-sxm-cluster\",\n \"name\": \"mine\",\n "
                  "\"adapters_per_node\": 2\n}\n");
  // A key cannot be taken from a base, so all are written.
  mine.attention.clear();
  EXPECT_THAT(toJson(mine, "h100-sxm-cluster"), HasSubstr("\"matmul\""));
  EXPECT_THAT(toJson(mine, "mine.json"), HasSubstr("\"matmul\""));
}

TEST(MeasuredPlaces, GroupsThatAloneHaveAnAlgorithm) {
  Hardware mine = cluster();
  CollectiveRates rates;
  rates.kind = CollectiveKind::AllReduce;
  rates.algorithm = CollectiveAlgorithm::InNetwork;
  rates.tier = mine.betweenTier;
  rates.busBandwidth = 1e9;
  rates.measuredGroupsOnly = true;
  rates.places[8][4] = {{1 * mib, 1e-6}, {64 * mib, 2e-6}};
  mine.collectives.push_back(rates);
  EXPECT_NEAR(seconds(mine, rates.kind, 64, 4, 8), 2e-6, 1e-12);
  for (auto [nodes, perNode] : {std::pair(2, 8), std::pair(4, 4)})
    EXPECT_EQ(seconds(mine, rates.kind, 64, nodes, perNode),
              seconds(cluster(), rates.kind, 64, nodes, perNode));
}

// Eight groups with a rank in each node run at once. Each has its own adapter,
// so they share nothing; with four adapters two groups share one.
TEST(Adapters, OnesThatDevicesShare) {
  for (int64_t adapters : {1, 4, 8, 16}) {
    Hardware mine = cluster(), own = cluster();
    mine.adaptersPerNode = adapters;
    for (CollectiveRates &rates : own.collectives)
      if (rates.tier == own.betweenTier)
        rates.busBandwidth *= double(adapters) / 8;
    for (CollectiveKind kind : kinds)
      for (auto [nodes, perNode] :
           {std::pair(2, 1), std::pair(2, 8), std::pair(5, 4)})
        for (double size : {0.01, 3.0, 512.0})
          EXPECT_DOUBLE_EQ(seconds(mine, kind, size, nodes, perNode),
                           seconds(own, kind, size, nodes, perNode))
              << nameOf(kind) << " " << adapters;
  }
  Hardware mine = cluster();
  mine.adaptersPerNode = 4;
  auto allGather = CollectiveKind::AllGather;
  EXPECT_NEAR(seconds(mine, allGather, 1024, 2, 1) /
                  seconds(cluster(), allGather, 1024, 2, 1),
              2, 0.01);
  EXPECT_EQ(seconds(mine, allGather, 1024, 1, 8),
            seconds(cluster(), allGather, 1024, 1, 8));
  EXPECT_THAT(llvm::toString(parseHardware(R"({"base": "h100-sxm", "name": "x",
                                       "adapters_per_node": 0})",
                                           "my.json")
                                 .takeError()),
              HasSubstr("adapters_per_node: expected a whole number from 1"));
}

#include "tpsp/Abi/RankMesh.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

RankMesh makeMesh(std::vector<MeshAxis> axes) {
  RankMesh mesh;
  EXPECT_TRUE(RankMesh::create(std::move(axes), mesh).ok());
  return mesh;
}

RankGroup groupOf(const RankMesh &mesh, int64_t rank,
                  const std::vector<int64_t> &axes) {
  RankGroup group;
  EXPECT_TRUE(mesh.group(rank, axes, group).ok());
  return group;
}

TEST(RankMesh, NoAxesAreOneRank) {
  RankMesh mesh = makeMesh({});
  EXPECT_EQ(mesh.numRanks(), 1);
  EXPECT_THAT(mesh.coordinates(0), ElementsAre());
  EXPECT_THAT(groupOf(mesh, 0, {}).ranks, ElementsAre(0));
}

TEST(RankMesh, FirstAxisIsSlowest) {
  RankMesh mesh = makeMesh({{"dp", 2}, {"tp", 3}});
  EXPECT_EQ(mesh.numRanks(), 6);
  EXPECT_THAT(mesh.coordinates(4), ElementsAre(1, 1));
  EXPECT_THAT(mesh.coordinates(2), ElementsAre(0, 2));
}

TEST(RankMesh, GroupsFollowTheAxisList) {
  RankMesh mesh = makeMesh({{"dp", 2}, {"tp", 3}});
  EXPECT_THAT(groupOf(mesh, 4, {1}).ranks, ElementsAre(3, 4, 5));
  EXPECT_EQ(groupOf(mesh, 4, {1}).self, 1);
  EXPECT_THAT(groupOf(mesh, 4, {0}).ranks, ElementsAre(1, 4));
  EXPECT_THAT(groupOf(mesh, 4, {0, 1}).ranks, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(groupOf(mesh, 4, {0, 1}).self, 4);
  EXPECT_THAT(groupOf(mesh, 4, {1, 0}).ranks, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(groupOf(mesh, 4, {1, 0}).self, 3);
}

TEST(RankMesh, RefusesWrongMeshes) {
  RankMesh mesh;
  auto message = [&](std::vector<MeshAxis> axes) {
    return RankMesh::create(std::move(axes), mesh).message();
  };
  EXPECT_THAT(message({{"tp", 0}}), HasSubstr("'tp' has size 0"));
  EXPECT_THAT(message({{"tp", 2}, {"tp", 2}}), HasSubstr("two axes 'tp'"));
  EXPECT_THAT(message({{"", 2}}), HasSubstr("axis 0 has no name"));
  EXPECT_THAT(message({{"a", int64_t(1) << 40}, {"b", int64_t(1) << 40}}),
              HasSubstr("more than"));
}

TEST(RankMesh, RefusesUnknownAxes) {
  RankMesh mesh = makeMesh({{"tp", 2}});
  RankGroup group;
  EXPECT_EQ(mesh.group(0, {1}, group).code(), TPSP_RT_INVALID);
}

} // namespace

#include "tpsp/Planner/Space.h"
#include "SmallPrograms.h"

#include <gmock/gmock.h>

#include <set>

using namespace tpsp;
using namespace tpsp::planner;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

static std::vector<std::string> textsOf(const Space &space) {
  std::vector<std::string> texts;
  for (const Candidate &candidate : space.leaves())
    texts.push_back(subscriptText(candidate, space.program()));
  return texts;
}

static SpaceOptions on(int64_t devices, unsigned maxAxes = 3) {
  SpaceOptions options;
  options.devices = devices;
  options.maxAxes = maxAxes;
  return options;
}

// Every use of one axis; what a prime does not divide is not there.
TEST(Space, UsesOfOneAxis) {
  EXPECT_THAT(textsOf(Space(mlp(6, 5, 7, 9), on(3))),
              UnorderedElementsAre("dp=3: b@dp", "fsdp=3: b@fsdp, stored @fsdp",
                                   "tp=3: parameters e@tp",
                                   "tp=3: b@tp, parameters e@tp"));
}

TEST(Space, StateOfAnOptimizer) {
  SpaceOptions options = on(3);
  options.hasState = true;
  EXPECT_THAT(textsOf(Space(mlp(6, 5, 7, 9), options)),
              Contains("dp=3: b@dp, state @dp"));
}

// No leaf comes twice, and products of axes divide what each divides.
TEST(Space, LeavesDifferAndDivide) {
  Space space(mlp(4, 4, 8, 8), on(8));
  std::vector<std::string> texts = textsOf(space);
  EXPECT_GT(texts.size(), 50u);
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(),
            texts.size());
  for (const Candidate &candidate : space.leaves()) {
    EXPECT_EQ(candidate.numRanks(), 8);
    int64_t onBatch = 1;
    for (const CandidateAxis &axis : candidate.axes)
      if (axis.use.activations == ClassId(0))
        onBatch *= axis.size;
    EXPECT_EQ(4 % onBatch, 0);
  }
}

// In a node the order of axes is of no account; between nodes it is.
TEST(Space, OrderWithinNodes) {
  SpaceOptions options = on(4, 2);
  size_t inOneNode = Space(mlp(4, 4, 8, 8), options).leaves().size();
  options.devicesPerNode = 2;
  size_t inTwo = Space(mlp(4, 4, 8, 8), options).leaves().size();
  EXPECT_GT(inTwo, inOneNode);
}

// A model axis divides nothing that is needed whole at once.
TEST(Space, MixedIndicesOfParameters) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  facts.classes[3].isMixed = true;
  for (const std::string &text : textsOf(Space(facts, on(2))))
    EXPECT_THAT(text, Not(HasSubstr("parameters e@")));
}

TEST(Space, Pins) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  SpaceOptions options = on(8, 2);
  for (const char *text : {"b@data=2", "e@model", "s@model"})
    ASSERT_EQ(parsePin(text, facts, options.pins.emplace_back()), "");
  std::vector<std::string> texts = textsOf(Space(facts, options));
  EXPECT_THAT(texts, Contains("data=2 model=4: b@data s@model, "
                              "parameters e@model"));
  for (const std::string &text : texts)
    EXPECT_THAT(text, AllOf(HasSubstr("data=2"), HasSubstr("b@data"),
                            HasSubstr("s@model"), ContainsRegex(" e@.*model")));
}

TEST(Space, WrongPins) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  Pin pin;
  EXPECT_THAT(parsePin("z@dp", facts, pin),
              HasSubstr("pins index 'z', which the program does not have; it "
                        "has b, s, t, d, e"));
  EXPECT_THAT(parsePin("b", facts, pin), HasSubstr("'b' is no pin"));
  EXPECT_THAT(parsePin("b@dp=0", facts, pin), HasSubstr("at least 1"));
  auto check = [&](std::vector<Pin> pins) {
    SpaceOptions options = on(8);
    options.pins = std::move(pins);
    return Space(facts, options).check();
  };
  EXPECT_THAT(check({{0, "dp", 3}}), HasSubstr("b@dp=3 does not divide 8"));
  EXPECT_THAT(check({{0, "dp", 8}}), HasSubstr("extent 4 of 'b'"));
  EXPECT_THAT(check({{0, "a", 2}, {3, "a", 4}}),
              HasSubstr("pins give @a two sizes, 2 and 4"));
  // Activations b and s on one axis.
  EXPECT_THAT(check({{0, "a", 2}, {1, "a", 2}}),
              HasSubstr("no factorisation with these pins"));
  EXPECT_EQ(check({{0, "dp", 2}}), "");
}

TEST(Space, NoFactorisation) {
  EXPECT_THAT(Space(mlp(4, 4, 8, 8), on(7)).check(),
              AllOf(HasSubstr("7 devices"), HasSubstr("e = 8")));
}

// Axes that are written stay, in their order, with their roles.
TEST(Space, WrittenMesh) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  facts.mesh = {{"mine", 2, "model"}};
  Space space(facts, on(4));
  ASSERT_EQ(space.check(), "");
  for (const Candidate &candidate : space.leaves()) {
    EXPECT_EQ(candidate.axes[0].name, "mine");
    EXPECT_EQ(candidate.axes[0].use.role, AxisRole::Model);
  }
  EXPECT_THAT(space.pure(), IsEmpty());
  EXPECT_THAT(Space(facts, on(3)).check(), HasSubstr("do not divide 3"));
}
